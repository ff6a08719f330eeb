"""Two ledgers on one cluster: both say so, one acts, and the other goes on once it has gone."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from jobledger.adapters.postgres.connection.engine import APP_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.connection.statements import database_identity
from jobledger.core.claims.leases import claim_of
from jobledger.core.claims.rule import Standing
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.wiring import Sandbox
from tests.acceptance.jobs import rayjob, runs, waiting_for
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYCLUSTERS, RAYJOBS, Witness
from tests.failover.standby import asked, standby_of
from tests.support.api import api_at
from tests.support.postgres import fresh_database
from tests.support.processes import Controller
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]


@pytest.fixture
def guarded(site: Site, sandbox: Sandbox) -> Iterator[Site]:
    """The site in a cluster with the namespace in which claims are kept."""
    server = api_at(sandbox.api.url)
    name = f"claims-of-{site.api.namespace}"
    reply = server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    assert reply.code == 201, reply  # Created
    yield replace(site, terminal=site.terminal.with_environment(JOBLEDGER_CLAIM_NAMESPACE=name))
    server.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def second(
    guarded: Site, postgres_server: EmbeddedPostgres, ledger_template: str
) -> Iterator[Site]:
    """The same site with a ledger of its own."""
    with fresh_database(postgres_server, ledger_template) as url:
        terminal = guarded.terminal.with_environment(DATABASE_URL=url)
        yield replace(guarded, terminal=terminal, database_url=url)


def told(controller: Controller, field: str) -> str:
    return " ".join(json.loads(controller.get("/readyz")[1]).get(field, []))


@contextmanager
def begun(site: Site, replica: str) -> Iterator[Controller]:
    """Start a controller without waiting until it is ready."""
    controller = site.controller(replica)
    try:
        controller.start(until_ready=False)
        yield controller
    except BaseException as error:
        error.add_note(controller.log[-4000:])
        raise
    finally:
        controller.kill()


def test_the_second_ledger_waits_and_both_say_so(guarded: Site, second: Site) -> None:
    gate, counter = guarded.directory / "gate", guarded.directory / "counter"
    script = waiting_for(gate).replace("sh -c 'n=0;", f"sh -c 'echo run >> {counter}; n=0;")
    with Witness(guarded.api, (RAYJOBS, RAYCLUSTERS)) as watched, ExitStack() as stack:
        first = stack.enter_context(guarded.controller("first"))
        guarded.submit(rayjob("long", script))
        watched.wait_for_status("long", jobDeploymentStatus="Running")
        late = stack.enter_context(begun(second, "second"))
        wait_until(lambda: "another ledger controls" in told(late, "waits_for"), "it waits")
        wait_until(lambda: "another ledger is to" in told(first, "notes"), "the first says it")
        assert first.get("/readyz")[0] == 200  # OK
        assert late.get("/readyz")[0] == 503  # Service Unavailable
        for controller in (first, late):
            assert controller.metric("jobledger_other_ledgers") == 1
            assert '"event": "other_ledger"' in controller.log
        assert second.value("SELECT count(*) FROM event") == 0
        assert first.terminate() == 0
        second.wait_for_true(
            "it is taken over",
            "SELECT count(*) = 1 FROM event WHERE type = 'RecoveredFromCluster'",
        )
        wait_until(lambda: late.get("/readyz")[0] == 200, "it is ready")  # OK
        gate.touch()
        watched.wait_for_phase("long", "Complete")
        assert len(watched.lives(RAYCLUSTERS)) == 1
    assert runs(counter) == 1


def standing_of(site: Site, replica: str) -> str:
    """Return what the claim of a replica says of it, once that is more than that it claims."""

    def standings() -> list[str]:
        namespace = site.terminal.environment["JOBLEDGER_CLAIM_NAMESPACE"]
        path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        items = site.api.request("GET", path).body["items"]
        claims = [claim_of(item) for item in items]
        own = [claim for claim in claims if claim.owner.startswith(f"{replica}/")]
        return [one.standing.value for one in own if one.standing is not Standing.CLAIMING]

    wait_until(lambda: bool(standings()), f"{replica} has looked at the other claims")
    return standings()[0]


def test_a_promoted_copy_waits_while_its_predecessor_lives(guarded: Site) -> None:
    with ExitStack() as stack:
        standby = stack.enter_context(standby_of(guarded.database_url))
        first = stack.enter_context(guarded.controller("first"))
        standby.wait_until_caught_up()
        standby.cut_off()
        standby.promote()
        (names_it,) = asked(
            standby.url, "SELECT count(*) FROM replica WHERE starts_with(owner, 'first/')"
        )
        assert names_it == 1, "the copied list names who lives beside it"
        terminal = guarded.terminal.with_environment(DATABASE_URL=standby.url)
        copied = replace(guarded, terminal=terminal, database_url=standby.url)
        before = copied.value("SELECT count(*) FROM event")
        late = stack.enter_context(begun(copied, "second"))
        assert standing_of(copied, "second") == "Waiting"
        wait_until(lambda: "another ledger controls" in told(late, "waits_for"), "it waits")
        assert copied.value("SELECT count(*) FROM event") == before
        assert (
            copied.value("SELECT count(*) FROM shard_lease WHERE starts_with(owner, 'second/')")
            == 0
        )
        assert first.get("/readyz")[0] == 200  # OK
        assert first.terminate() == 0
        wait_until(lambda: late.get("/readyz")[0] == 200, "it is ready")  # OK


def test_the_services_role_may_know_which_database_it_is(ledger_url: str) -> None:
    engine = open_engine(ledger_url, EngineOptions(role=APP_ROLE, pool_size=1))
    try:
        found = database_identity(engine)
        assert database_identity(engine) == found
    finally:
        engine.dispose()
    system, timeline, database, schema = found.split("/")
    assert int(system) > 0
    assert timeline == "00000001"
    assert int(database) > 0
    assert schema == "public"
