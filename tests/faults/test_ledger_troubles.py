"""While Postgres is in trouble nothing is done that is not on record; then work goes on by itself.

Each trouble begins while both jobs run and nothing is left to do; then the entrypoints fail.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.postgres.user import server_user
from jobledger.sandbox.wiring import Sandbox
from tests.acceptance.conftest import at_sandbox
from tests.acceptance.site import Site, namespace_of
from tests.faults import ledger_troubles
from tests.faults.inside import InsideController, inside
from tests.faults.ledger_troubles import Ledger, Trouble, as_clerk, filled, hire_clerk, small_disk
from tests.faults.lines import Lines, at_the_end_of
from tests.faults.notary import effect_of
from tests.faults.retry_story import RetryStory, assert_nothing_broke, readiness
from tests.support.http_fault_proxy import Request
from tests.support.postgres import fresh_database, open_directory, plain_url, running_server
from tests.support.processes import Terminal
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

AWAY = "the ledger is not available"
LEASE_SECONDS = "3"
"""Short, so that it is soon noticed that they cannot be renewed."""
LEDGER_PATIENCE_SECONDS = 2
QUESTIONS = 4
"""So often the heads are asked in a time in which nothing may be done."""

TROUBLES: dict[str, tuple[Trouble, str]] = {
    "it was killed": (ledger_troubles.killed, "cannot be reached"),
    "it was stopped": (ledger_troubles.stopped, "cannot be reached"),
    "it is read-only": (ledger_troubles.read_only, "read-only transaction"),
    "it is out of connections": (ledger_troubles.crowded, "too many connections"),
    "the password is another": (ledger_troubles.locked_out, "the password is wrong"),
    "it cannot be reached": (ledger_troubles.unplugged, "cannot be reached"),
    "nothing comes back": (ledger_troubles.silent, "not renewed in time"),
    "appends wait for a lock": (ledger_troubles.append_lock_taken, "not renewed in time"),
}


@pytest.fixture(scope="module")
def own_server() -> Iterator[EmbeddedPostgres]:
    """A server that tests may kill; the service is no administrator of it."""
    with running_server() as server:
        with fresh_database(server) as template:
            upgrade(template)
            hire_clerk(template)
            with psycopg.connect(plain_url(server.url), autocommit=True) as admin:
                name = sql.Identifier(make_url(template).database or "")
                admin.execute(sql.SQL("CREATE DATABASE template2 TEMPLATE {}").format(name))
        yield server


@pytest.fixture
def ledger_url(own_server: EmbeddedPostgres) -> Iterator[str]:
    """An empty ledger on that server."""
    with fresh_database(own_server, "template2") as url:
        yield url


@pytest.fixture
def site(sandbox: Sandbox, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    """A site whose ledger lies there."""
    with namespace_of(sandbox) as api:
        yield Site(
            api=api,
            terminal=at_sandbox(terminal, sandbox, ledger_url),
            database_url=ledger_url,
            proxy_url=sandbox.data_plane.proxy_url,
        )


@pytest.fixture
def remote(site: Site, lines: Lines) -> Site:
    """The site as the service sees it, which is no administrator."""
    far = at_the_end_of(lines, site)
    url = as_clerk(far.terminal.environment["DATABASE_URL"])
    told = url.render_as_string(hide_password=False)
    return replace(far, terminal=far.terminal.with_environment(DATABASE_URL=told))


@pytest.fixture
def ledger(own_server: EmbeddedPostgres, site: Site, lines: Lines) -> Ledger:
    """What trouble is made for."""
    return Ledger(own_server, site.database_url, lines)


def effects(lines: Lines) -> list[Request]:
    """Return the effects so far, whoever they were sent to."""
    sent = [*lines.api.requests(), *lines.ray.requests()]
    return [request for request in sent if effect_of(request) is not None]


def run_until_quiet(story: RetryStory, gate: Path) -> None:
    """Start both jobs and wait until nothing is left to do but to wait for them."""
    story.submit(gate=gate)
    for name in story.names:
        story.witness.wait_for_status(name, jobDeploymentStatus="Running", jobStatus="RUNNING")
    nothing = "SELECT count(*) = 0 FROM effect WHERE state = 'requested'"
    story.site.wait_for_true("every effect has ended", nothing)


def wait_for_questions(controller: InsideController) -> None:
    """Return when heads were asked a few times more; what is to be done, would be done by then."""
    asked = controller.metric("jobledger_ray_polls_total")
    wait_until(
        lambda: controller.metric("jobledger_ray_polls_total") >= asked + QUESTIONS, "questions"
    )


@pytest.mark.parametrize("trouble", TROUBLES)
def test_nothing_is_done_off_the_record_and_work_resumes(
    remote: Site, story: RetryStory, ledger: Ledger, trouble: str
) -> None:
    gate = story.site.directory / "gate"
    make_trouble, said = TROUBLES[trouble]
    with inside(remote, JOBLEDGER_LEASE_SECONDS=LEASE_SECONDS) as controller:
        run_until_quiet(story, gate)
        with make_trouble(ledger):
            before = len(effects(ledger.lines))
            gate.touch()
            wait_until(lambda: AWAY in readiness(controller)[0], "it says what it waits for")
            wait_until(lambda: said in readiness(controller)[1], f"it says why: {said}")
            wait_for_questions(controller)
            assert len(effects(ledger.lines)) == before
            assert controller.get("/readyz")[0] == 503
            assert controller.get("/healthz")[0] == 200
        story.assert_same_end()
        wait_until(lambda: readiness(controller) == ([], ""), "it is ready again")
        if said == "cannot be reached":  # of the others it may not need the ledger until it is back
            assert "ledger_available" in controller.log
        assert_nothing_broke(controller)


def test_connections_that_have_lost_their_server_are_given_up(
    remote: Site, story: RetryStory, ledger: Ledger
) -> None:
    """New ones work before the old ones have noticed; nobody waits for those for ever."""
    gate = story.site.directory / "gate"
    with inside(
        remote, ledger_patience=LEDGER_PATIENCE_SECONDS, JOBLEDGER_LEASE_SECONDS=LEASE_SECONDS
    ) as controller:
        run_until_quiet(story, gate)
        with ledger_troubles.half_open(ledger):
            before = len(effects(ledger.lines))
            gate.touch()
            wait_until(lambda: AWAY in readiness(controller)[0], "it says what it waits for")
            wait_until(lambda: "no answer within" in readiness(controller)[1], "it says why")
            assert len(effects(ledger.lines)) == before
            assert controller.get("/healthz")[0] == 200
        story.assert_same_end()
        wait_until(lambda: readiness(controller) == ([], ""), "it is ready again")
        assert_nothing_broke(controller)


@pytest.fixture
def disk() -> Iterator[Path]:
    """A disk of a few megabytes."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk that is small enough to be filled")
    with open_directory() as directory:
        mounted: AbstractContextManager[Path] = small_disk(directory / "disk", 48, server_user())
        try:
            with mounted as made:
                yield made
        except OSError as error:
            pytest.skip(f"no small disk can be mounted here: {error}")


class TestFullDisk:
    """The ledger lies on a disk that others fill up."""

    @pytest.fixture
    def ledger_url(self, own_server: EmbeddedPostgres, disk: Path) -> Iterator[str]:
        """An empty ledger on that disk (but for the write-ahead log)."""
        with fresh_database(own_server, "template2") as url:
            with psycopg.connect(plain_url(own_server.url), autocommit=True) as admin:
                name = sql.Identifier(make_url(url).database or "")
                place = sql.Literal(str(disk))
                admin.execute(sql.SQL("CREATE TABLESPACE small LOCATION {}").format(place))
                admin.execute(sql.SQL("ALTER DATABASE {} SET TABLESPACE small").format(name))
            yield url
        with psycopg.connect(plain_url(own_server.url), autocommit=True) as admin:
            admin.execute("DROP TABLESPACE small")

    def test_work_resumes_when_there_is_room_again(
        self, remote: Site, story: RetryStory, ledger: Ledger, disk: Path
    ) -> None:
        """What still fits into pages that exist is recorded, and done."""
        gate = story.site.directory / "gate"
        with inside(remote) as controller:
            run_until_quiet(story, gate)
            with filled(disk):
                gate.touch()
                wait_until(lambda: AWAY in readiness(controller)[0], "it says what it waits for")
                assert "No space left on device" in readiness(controller)[1]
                before = len(effects(ledger.lines))
                wait_for_questions(controller)
                assert len(effects(ledger.lines)) == before
                assert controller.get("/healthz")[0] == 200
            story.assert_same_end()
            assert_nothing_broke(controller)
