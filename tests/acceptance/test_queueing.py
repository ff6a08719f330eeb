"""Jobs in a queue like Kueue: admitted once for all attempts, built as they were admitted."""

from pathlib import Path

import pytest

from jobledger.sandbox.wiring import Sandbox
from tests.acceptance.jobs import counting, rayjob, runs, waiting_for
from tests.acceptance.queueing import (
    QUEUE_LABEL,
    admit,
    evict,
    flavors,
    is_active,
    is_finished,
    queued,
    suspend_as_told,
)
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, RAYCLUSTERS, RAYJOBS, Witness

pytestmark = pytest.mark.postgres

SUBMITTER = {
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "ray-job-submitter", "image": "rayproject/ray"}],
    }
}


def test_a_queued_job_is_admitted_once_for_all_its_attempts(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    """A retry touches no `spec.suspend` and passes through no phase that frees the quota."""
    counter = tmp_path / "counter"
    job = rayjob("lucky", counting(counter, fails=2), mode="K8sJobMode", backoffLimit=2)
    job["spec"]["submitterPodTemplate"] = SUBMITTER
    with site.controller():
        site.submit(queued(job))
        witness.wait_for_phase("lucky", "Suspended")
        assert witness.lives(RAYCLUSTERS) == witness.lives(BATCH_JOBS) == []
        assert not is_active(witness.status("lucky"))
        admit(site, "lucky", "spot")
        status = witness.wait_for_phase("lucky", "Complete")
    assert is_finished(status)
    assert runs(counter) == 3
    assert witness.phases("lucky") == [
        "Suspended",
        *["Initializing", "Running", "Retrying"] * 2,
        *("Initializing", "Running", "Complete"),
    ]
    assert suspend_as_told(witness, "lucky") == [True, False]
    generations = {item.document["metadata"]["generation"] for item in witness.told(RAYJOBS)}
    assert generations == {1, 2}, "nobody but the queue has changed the specification"
    assert flavors(witness) == ["spot"] * 3
    for item in witness.told(BATCH_JOBS):
        template = item.document["spec"]["template"]
        assert template["spec"]["nodeSelector"] == {"flavor": "spot"}
    for item in witness.told(RAYCLUSTERS):
        assert item.document["metadata"]["labels"][QUEUE_LABEL] == "research"
        (owner,) = item.document["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["controller"]) == ("RayJob", True)


def test_an_evicted_job_gives_up_everything_and_is_built_anew_where_it_is_admitted_next(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    with site.controller():
        job = rayjob("moved", waiting_for(gate), mode="K8sJobMode", backoffLimit=1)
        site.submit(queued(job))
        witness.wait_for_phase("moved", "Suspended")
        admit(site, "moved", "spot")
        witness.wait_for_status("moved", jobDeploymentStatus="Running", jobStatus="RUNNING")
        ready = witness.status("moved")["rayClusterStatus"]["state"]
        assert ready == "ready", "what the queue takes for PodsReady"
        evict(site, "moved")
        status = witness.wait_for_phase("moved", "Suspended")
        assert not is_active(status)
        assert not is_finished(status)
        assert all(life.ended for life in witness.lives(RAYCLUSTERS))
        assert all(life.ended for life in witness.lives(BATCH_JOBS))
        admit(site, "moved", "on-demand")
        gate.touch()
        status = witness.wait_for_phase("moved", "Complete")
    assert flavors(witness) == ["spot", "on-demand"]
    assert (status["succeeded"], status["failed"]) == (1, 0), "an eviction is no failure"
    assert suspend_as_told(witness, "moved") == [True, False, True, False]
    outcomes = site.rows("SELECT outcome FROM attempt ORDER BY number")
    assert [row["outcome"] for row in outcomes][-2:] == ["suspended", "succeeded"]


def test_a_job_that_is_evicted_while_retrying_is_suspended_instead_of_the_next_attempt(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    """Retrying does not honour suspend, and the history says so; no RayCluster is made after it."""
    counter = tmp_path / "counter"
    settings = {"JOBLEDGER_RETRY_DELAY_SECONDS": "2"}
    with site.controller(**settings):
        job = rayjob("late", counting(counter, fails=1), backoffLimit=1)
        site.submit(queued(job))
        witness.wait_for_phase("late", "Suspended")
        admit(site, "late", "spot")
        witness.wait_for_phase("late", "Retrying")
        evict(site, "late")
        witness.wait_for_phase("late", "Suspended")
        assert all(life.ended for life in witness.lives(RAYCLUSTERS))
        admit(site, "late", "on-demand")
        status = witness.wait_for_phase("late", "Complete")
    assert (status["succeeded"], status["failed"]) == (1, 1), "the failure is kept"
    assert runs(counter) == 2
    assert flavors(witness) == ["spot", "on-demand"]
    told = site.terminal.jobledger("history", "late").out
    assert "Retrying does not honour it" in told


def test_an_admitted_job_has_no_raycluster_before_its_status_shows_that_it_runs(
    sandbox: Sandbox, site: Site, witness: Witness, tmp_path: Path
) -> None:
    """The queue frees the quota of a job that it evicts as soon as that looks stopped."""
    counter = tmp_path / "counter"
    with site.controller():
        site.submit(queued(rayjob("late", counting(counter, fails=0))))
        witness.wait_for_phase("late", "Suspended")
        path = site.api.path(RAYJOBS, "late", "status")
        sandbox.api.faults.answer("PATCH", path, 503, times=3)
        admit(site, "late", "spot")
        witness.wait_for_phase("late", "Complete")
    (made,) = witness.clusters_of("late")
    told = witness.told(RAYJOBS, "late")
    shown = [item.revision for item in told if is_active(item.document.get("status", {}))]
    assert shown[0] < made.begun
    assert runs(counter) == 1
