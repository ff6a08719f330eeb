"""The life of a RayJob on a real API server, with upstream's definitions where they are at hand.

Real are the API server, the controller manager (Jobs, garbage collection), the controller's rights
and the entrypoints' processes; simulated is what KubeRay makes of a RayCluster.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.jobs import counting, rayjob, runs, waiting_for
from tests.acceptance.real_site import real_site
from tests.acceptance.site import Site
from tests.acceptance.test_retry import THREE_ATTEMPTS, assert_one_after_the_other
from tests.acceptance.witness import BATCH_JOBS, RAYCLUSTERS, RAYJOBS, Witness
from tests.support.api import PODS
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]


@pytest.fixture
def site(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    """Stands in place of the sandbox's: what takes a site takes this one."""
    with real_site(api_server, terminal, ledger_url) as running:
        yield running


def test_a_job_that_fails_twice_succeeds_on_its_third_raycluster(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    counter = tmp_path / "counter"
    with site.controller():
        site.submit(
            rayjob(
                "lucky",
                counting(counter, fails=2),
                mode="K8sJobMode",
                backoffLimit=2,
                shutdownAfterJobFinishes=True,
            )
        )
        status = witness.wait_for_phase("lucky", "Complete")
        witness.wait_until(
            lambda: all(life.ended for life in witness.lives(RAYCLUSTERS)), "the shutdown"
        )
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
    assert runs(counter) == 3
    assert witness.phases("lucky") == [*THREE_ATTEMPTS, "Complete"]
    assert (status["succeeded"], status["failed"]) == (1, 2)
    clusters, submitters = witness.lives(RAYCLUSTERS), witness.lives(BATCH_JOBS)
    assert len({life.name for life in clusters}) == len(clusters) == 3
    assert [life.name for life in submitters] == ["lucky"] * 3
    assert_one_after_the_other(clusters)
    assert_one_after_the_other(submitters)
    (kept,) = site.api.list(BATCH_JOBS).body["items"]
    conditions = [one["type"] for one in kept["status"]["conditions"]]
    assert conditions == ["SuccessCriteriaMet", "Complete"], "the real Job controller's"
    assert "equal the fold of the log" in site.terminal.jobledger("rebuild", "--check").out


def test_an_exceeded_active_deadline_is_never_retried(site: Site, witness: Witness) -> None:
    never = waiting_for(site.directory / "never")
    with site.controller():
        site.submit(rayjob("slow", never, activeDeadlineSeconds=600, backoffLimit=3))
        witness.wait_for_status("slow", jobDeploymentStatus="Running", jobStatus="RUNNING")
        site.change("slow", activeDeadlineSeconds=2)
        status = witness.wait_for_phase("slow", "Failed")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
    assert (status["reason"], status["failed"]) == ("DeadlineExceeded", 1)
    assert witness.phases("slow") == ["Initializing", "Running", "Failed"]


def test_a_resumed_job_runs_on_another_raycluster(site: Site, witness: Witness) -> None:
    gate = site.directory / "gate"
    with site.controller():
        entrypoint = waiting_for(gate)
        site.submit(rayjob("pausing", entrypoint, mode="K8sJobMode", shutdownAfterJobFinishes=True))
        witness.wait_for_status("pausing", jobDeploymentStatus="Running", jobStatus="RUNNING")
        site.change("pausing", suspend=True)
        witness.wait_for_phase("pausing", "Suspended")
        assert all(life.ended for life in witness.lives(RAYCLUSTERS))
        assert all(life.ended for life in witness.lives(BATCH_JOBS))
        site.change("pausing", suspend=False)
        gate.touch()
        status = witness.wait_for_phase("pausing", "Complete")
    assert witness.phases("pausing") == [
        *("Initializing", "Running", "Suspending", "Suspended"),
        *("Initializing", "Running", "Complete"),
    ]
    assert len({life.name for life in witness.lives(RAYCLUSTERS)}) == 2
    assert (status["succeeded"], status["failed"]) == (1, 0)


def test_a_deleted_job_takes_everything_with_it(site: Site, witness: Witness) -> None:
    """Our finalizer comes off, and the controller manager collects what the job owned."""
    with site.controller():
        site.submit(rayjob("brief", waiting_for(site.directory / "never"), mode="K8sJobMode"))
        witness.wait_for_status("brief", jobDeploymentStatus="Running", jobStatus="RUNNING")
        assert len(site.api.list(PODS).body["items"]) == 2, "a head and a submitter"
        assert site.api.delete(RAYJOBS, "brief").code == 200
        for resource in (RAYJOBS, RAYCLUSTERS, BATCH_JOBS):
            witness.wait_until(
                lambda resource=resource: all(life.ended for life in witness.lives(resource)),  # type: ignore[misc]  # a default argument binds the loop's value
                f"no {resource} is left",
            )
        witness.wait_until(lambda: site.api.list(PODS).body["items"] == [], "no Pod is left")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")


def test_a_controller_that_is_killed_carries_on(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    counter, gate = tmp_path / "counter", tmp_path / "gate"
    entrypoint = f"sh -c 'echo run >> {counter}; until [ -e {gate} ]; do sleep 0.2; done'"
    with site.controller() as controller:
        site.submit(rayjob("steady", entrypoint, mode="K8sJobMode"))
        witness.wait_for_status("steady", jobDeploymentStatus="Running", jobStatus="RUNNING")
        controller.kill()
        gate.touch()
        controller.start()
        status = witness.wait_for_phase("steady", "Complete")
    assert (status["succeeded"], status["failed"], runs(counter)) == (1, 0, 1)
    assert len(witness.lives(RAYCLUSTERS)) == len(witness.lives(BATCH_JOBS)) == 1


def test_users_are_told_what_happened(site: Site, witness: Witness) -> None:
    """The controller may write Kubernetes Events, and users find them with the job."""
    with site.controller():
        site.submit(rayjob("told", "true"))
        witness.wait_for_phase("told", "Complete")

        def reasons() -> set[str]:
            selector = "involvedObject.name=told"
            found = site.api.list("v1/events", fieldSelector=selector).body["items"]
            return {one["reason"] for one in found}

        found = "the Kubernetes Event of its RayCluster is there"
        witness.wait_until(lambda: "CreatedRayCluster" in reasons(), found)
