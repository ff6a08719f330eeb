"""A retry on the same RayCluster while the service is killed again and again between the steps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.jobs import counting, rayjob, runs, with_metadata
from tests.acceptance.real_site import real_site
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, RAYCLUSTERS, WATCHED, Witness
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.apiserver, pytest.mark.postgres]

ASKED = {"jobledger.dev/retry-on": "same-cluster"}
PAUSE_SECONDS = 30
"""Long enough for a busy machine to kill the service before the retry is due."""

NOT_FOUND = 404

_TIMES = "SELECT count(*) >= {} FROM event WHERE type = '{}'"

STEPS = (
    ("the first attempt runs", _TIMES.format(1, "AttemptReachedRunning")),
    ("the retry is granted", _TIMES.format(1, "RetryGranted")),
    ("the submitter has gone", _TIMES.format(1, "AttemptCleared")),
    ("the second attempt has begun", _TIMES.format(2, "AttemptStarted")),
    ("the second attempt runs", _TIMES.format(2, "AttemptReachedRunning")),
    (
        "Ray has answered of both attempts",
        "SELECT count(DISTINCT data->>'job_id') >= 2 FROM event WHERE type = 'EntrypointObserved'",
    ),
)
"""After what the service is killed, and the query that is true from then on."""


@pytest.fixture
def at(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    with real_site(api_server, terminal, ledger_url) as site:
        yield site


@pytest.fixture
def watched(at: Site) -> Iterator[Witness]:
    with Witness(at.node.api, WATCHED) as witness:
        yield witness


def retried_once(name: str, counter: Path, **annotations: str) -> dict[str, object]:
    """Return a RayJob whose first attempt fails, and which asks for the same RayCluster."""
    job = rayjob(name, counting(counter, fails=1), mode="K8sJobMode", backoffLimit=1)
    return with_metadata(job, annotations={**ASKED, **annotations})


def uids(watched: Witness, resource: str) -> list[str]:
    """Return the UIDs of all objects of a kind that there ever were, in order."""
    return list(dict.fromkeys(item.uid for item in watched.told(resource)))


def assert_told(site: Site, counter: Path, status: dict[str, object]) -> None:
    """Assert that the entrypoint ran twice, and status and log say so."""
    assert runs(counter) == 2
    assert (status["failed"], status["succeeded"]) == (1, 1)
    attempts = site.rows("SELECT ray_job_id FROM attempt ORDER BY number")
    assert len({row["ray_job_id"] for row in attempts}) == len(attempts) == 2
    site.terminal.jobledger("verify")
    site.terminal.jobledger("rebuild", "--check")


def test_killed_between_the_steps_the_second_attempt_runs_on_the_same_raycluster(
    at: Site, watched: Witness, tmp_path: Path
) -> None:
    counter = tmp_path / "counter"
    at.submit(retried_once("there", counter))
    with at.controller() as controller:
        for what, query in STEPS:
            at.wait_for_true(what, query)
            controller.kill()
            controller.start(until_ready=False)
        status = watched.wait_for_phase("there", "Complete")
    assert_told(at, counter, status)
    (cluster,) = watched.lives(RAYCLUSTERS)
    assert (cluster.name, cluster.ended) == (status["rayClusterName"], None)
    assert len(uids(watched, RAYCLUSTERS)) == 1
    assert len(uids(watched, BATCH_JOBS)) == 2
    shown = [phase for phase in watched.phases("there") if phase in ("Retrying", "Complete")]
    assert shown == ["Retrying", "Complete"]


def test_a_raycluster_that_goes_while_nobody_is_there_is_followed_by_a_new_one(
    at: Site, watched: Witness, tmp_path: Path
) -> None:
    counter = tmp_path / "counter"
    admin = at.node.api
    pause = {"jobledger.dev/retry-delay-seconds": str(PAUSE_SECONDS)}
    at.submit(retried_once("moved", counter, **pause))
    with at.controller() as controller:
        watched.wait_for_phase("moved", "Retrying")
        controller.kill()
    assert at.value("SELECT count(*) FROM event WHERE type = 'AttemptStarted'") == 1
    (first,) = watched.lives(RAYCLUSTERS)
    assert first.ended is None, "it stays for the next attempt"
    assert admin.delete(RAYCLUSTERS, first.name).code == 200
    wait_until(lambda: admin.get(RAYCLUSTERS, first.name).code == NOT_FOUND, "it is gone")
    with at.controller("later"):
        status = watched.wait_for_phase("moved", "Complete")
    assert_told(at, counter, status)
    assert len(uids(watched, RAYCLUSTERS)) == len(uids(watched, BATCH_JOBS)) == 2
    assert status["rayClusterName"] != first.name
    (given_up,) = at.rows("SELECT data FROM event WHERE type = 'ClusterGivenUp'")
    assert given_up["data"]["cause"] == f"RayCluster {first.name} is gone"
