"""Replicas that are cut off, stopped, resumed and killed: others take over, and nothing is doubled.

Leases are short here. How long a takeover takes with those of every day is measured:
`python -m bench replicas`.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from jobledger.core.values.ids import SHARDS
from tests.acceptance.jobs import counting, rayjob, runs
from tests.acceptance.site import Site
from tests.acceptance.witness import LIMIT_SECONDS, RAYCLUSTERS, Witness
from tests.faults.inside import inside
from tests.faults.lines import SUBMITTING, Lines, at_the_end_of
from tests.faults.retry_story import assert_nothing_broke
from tests.support.http_fault_proxy import Deed, HttpFaultProxy, Request
from tests.support.processes import Controller
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

LEASE = "3"
"""Seconds; short."""

HELD: dict[str, tuple[str, str, str]] = {
    "deleting": ("api", "DELETE", "/rayclusters/"),
    "telling": ("api", "PATCH", "/rayjobs/telling/status"),
    "submitting": ("ray", *SUBMITTING),
    "creating": ("api", "POST", r"/rayclusters(\?|$)"),
}
"""Job -> the line, method and target of its request that is held back. In this order: each is held
before the next job begins."""


@pytest.fixture
def remote(site: Site, lines: Lines) -> Site:
    """The site at the end of bad lines; nobody checks what goes out here."""
    return at_the_end_of(lines, site)


def works_on(controller: Controller, shards: int) -> None:
    """Return once a replica works on so many shards."""
    wait_until(
        lambda: controller.metric("jobledger_shards_worked_on") == shards,
        f"it works on {shards} shards",
        LIMIT_SECONDS,
    )


def assert_log(site: Site, jobs: int) -> None:
    """Every job has ended after one attempt; the log is whole, and nothing is left to do."""
    ends = "SELECT count(*) FROM job WHERE phase = 'Complete' AND attempt = 1 AND NOT open"
    assert site.value(ends) == jobs
    assert site.value("SELECT count(*) FROM effect WHERE state = 'requested'") == 0
    assert site.value("SELECT count(*) FROM decision WHERE state = 'pending'") == 0
    site.terminal.jobledger("verify")
    site.terminal.jobledger("rebuild", "--check")


def closed(site: Site, name: str) -> None:
    """Return once nothing is left to do in a job."""
    site.wait_for_true(
        f"nothing is left to do in {name}",
        "SELECT count(*) = 1 FROM job WHERE name = %s AND NOT open",
        name,
    )


def hold_back(lines: Lines, name: str) -> Callable[[], list[Request]]:
    """Hold the next request of a kind; return what finds it."""
    line, methods, pattern = HELD[name]
    proxy: HttpFaultProxy = getattr(lines, line)
    proxy.spoil(methods, pattern, Deed.HOLD)

    def found() -> list[Request]:
        return [item for item in proxy.requests(methods, pattern) if item.deed is Deed.HOLD]

    return found


def test_what_a_zombie_sent_changes_nothing_and_what_it_knows_is_not_written(
    remote: Site, site: Site, lines: Lines, witness: Witness
) -> None:
    """It is stopped, others do its work, its requests arrive, it resumes; then it is killed."""
    counters = {name: site.directory / f"counter-{name}" for name in HELD}
    with remote.controller("zombie", JOBLEDGER_LEASE_SECONDS=LEASE) as zombie:
        works_on(zombie, SHARDS)
        held = []
        for name in HELD:
            found, entrypoint = hold_back(lines, name), counting(counters[name], fails=0)
            site.submit(rayjob(name, entrypoint, shutdownAfterJobFinishes=name == "deleting"))
            wait_until(lambda found=found: found() != [], f"{name} is on its way", LIMIT_SECONDS)  # type: ignore[misc]  # mypy knows no defaults of lambdas
            held += found()
        os.kill(zombie.pid, signal.SIGSTOP)
        with inside(site, JOBLEDGER_LEASE_SECONDS=LEASE) as successor:
            works_on(successor, SHARDS)
            for name in HELD:
                witness.wait_for_phase(name, "Complete")
                closed(site, name)
            passed_on = site.value("SELECT position FROM log_head")
            lines.api.let_go()
            lines.ray.let_go()
            wait_until(lambda: all(request.code for request in held), "they have arrived")
            assert [request.code >= 400 for request in held] == [True] * len(held), held
            os.kill(zombie.pid, signal.SIGCONT)
            works_on(zombie, SHARDS // 2)
            old = "SELECT count(*) FROM event WHERE actor LIKE 'zombie/%%' AND position > %s"
            assert site.value(f"{old} AND epoch = 1", passed_on) == 0
            assert {name: runs(counter) for name, counter in counters.items()} == dict.fromkeys(
                HELD, 1
            )
            assert len(witness.lives(RAYCLUSTERS)) == len(HELD), "none was made twice"
            zombie.kill()
            works_on(successor, SHARDS)
            assert_nothing_broke(successor)
    assert "Traceback" not in zombie.log
    assert_log(site, len(HELD))


@contextmanager
def cut(lines: Lines, *names: str) -> Iterator[None]:
    """Let nothing pass on some lines."""
    for name in names:
        getattr(lines, name).hold()
    yield
    for name in names:
        getattr(lines, name).restore()


def test_who_is_cut_off_is_replaced_and_comes_back(
    remote: Site, site: Site, lines: Lines, witness: Witness
) -> None:
    """From Postgres, from the API server, from both: in each case the jobs go on."""
    cuts = {"ledger": ["ledger"], "api": ["api"], "both": ["ledger", "api"]}
    with inside(
        remote, replica="far", ledger_patience=2, patience=2, JOBLEDGER_LEASE_SECONDS=LEASE
    ) as far:
        works_on(far, SHARDS)
        with inside(site, replica="near", JOBLEDGER_LEASE_SECONDS=LEASE) as near:
            for name, cut_off in cuts.items():
                works_on(far, SHARDS // 2)
                works_on(near, SHARDS // 2)
                with cut(lines, *cut_off):
                    counter = site.directory / f"counter-{name}"
                    site.submit(rayjob(name, counting(counter, fails=0)))
                    works_on(near, SHARDS)
                    witness.wait_for_phase(name, "Complete")
                    closed(site, name)
                assert runs(counter) == 1
            works_on(far, SHARDS // 2)
            assert_nothing_broke(near)
        works_on(far, SHARDS)
        assert_nothing_broke(far)
    assert_log(site, len(cuts))


def test_whose_clock_is_off_leaves_the_work_to_who_has_the_time(site: Site) -> None:
    """Deadlines of half of all jobs waited, and their jobs began five minutes ahead."""
    with inside(
        site, replica="astray", ahead=timedelta(minutes=5), JOBLEDGER_LEASE_SECONDS=LEASE
    ) as astray:
        works_on(astray, SHARDS)
        with inside(site, JOBLEDGER_LEASE_SECONDS=LEASE) as right:
            works_on(right, SHARDS)
            site.submit(rayjob("too-slow", "sleep 600", activeDeadlineSeconds=1))
            site.wait_for_true(
                "the deadline has passed",
                "SELECT count(*) = 1 FROM job WHERE reason = 'DeadlineExceeded'",
            )
            assert_nothing_broke(right)
