"""Recorder, adoption and hand-over beside the real KubeRay operator, on a real API server."""

import pytest

from tests.acceptance.jobs import counting, rayjob, runs
from tests.acceptance.witness import KUBERNETES_EVENTS, RAYCLUSTERS, RAYJOBS
from tests.operators.definitions import as_upstream_released, managed_by_is_admitted, newest
from tests.operators.stage import Stage, stepwise
from tests.support.api import JSON_PATCH
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

OURS = {"managedBy": "jobledger.dev/controller"}
BACK = [{"op": "remove", "path": "/spec/managedBy"}]


def test_retries_are_recorded_in_full(stage: Stage) -> None:
    """The recorder has every attempt of a RayJob that KubeRay retries, and writes nothing."""
    site, file = stage.site, stage.site.directory / "runs"
    with stage.kuberay(), stage.recorder():
        job = rayjob("train", counting(file, fails=2), mode="K8sJobMode", backoffLimit=2)
        job["spec"] |= {"shutdownAfterJobFinishes": True, "submitterConfig": {"backoffLimit": 0}}
        site.submit(job)
        stage.wait_for_status("train", "Complete", failed=2)
        stage.wait_for_phase("train", "Complete", 3)
    assert runs(file) == 3
    assert [row[:3] for row in stage.attempts("train")] == [
        ("failed", "AppFailed", True),
        ("failed", "AppFailed", True),
        ("succeeded", "", False),
    ]
    assert not any("jobledger" in writer for writer in stage.writers("train"))
    assert "attempt 2 failed: AppFailed" in stage.says("history", "train")
    stage.forensics_hold("train")


def told_here(stage: Stage) -> set[str]:
    """Return the reasons of our Kubernetes Events: upstream's name no action."""
    told = stage.admin.list(KUBERNETES_EVENTS).body["items"]
    return {one["reason"] for one in told if one.get("action")}


@pytest.mark.parametrize("mode", ["K8sJobMode", "HTTPMode", "SidecarMode"])
def test_one_job_is_handed_over_in_mid_retry_and_given_back(stage: Stage, mode: str) -> None:
    """Handed over in attempt 2 and given back in attempt 3; no attempt runs twice.

    The Service, which leads to a RayCluster of KubeRay's name, is led on without a complaint.
    """
    steps = stage.site.directory / "steps"
    with (
        managed_by_is_admitted(stage.admin),
        stage.kuberay(),
        stage.service("controller", "--control", "managed-by"),
    ):
        entrypoint = stepwise(steps, fails=2)
        stage.site.submit(rayjob("train", entrypoint, mode=mode, backoffLimit=3))
        stage.goes_on(steps, 1)
        stage.wait_for_status("train", "Running", failed=1)
        stage.has_begun(steps, 2)
        stage.site.change("train", **OURS)
        stage.wait_for_event("train", "ControlTaken")
        stage.goes_on(steps, 2)
        stage.wait_for_status("train", "Running", failed=2)
        stage.has_begun(steps, 3)
        wait_until(lambda: "UpdatedService" in told_here(stage), "the Service is led on")
        assert "jobledger" in stage.writers("train")
        path = stage.admin.path(RAYJOBS, "train")
        given_back = stage.admin.request("PATCH", path, BACK, content_type=JSON_PATCH)
        assert given_back.code == 200, given_back.message  # OK
        stage.wait_for_event("train", "ControlReleased", 2)
        stage.goes_on(steps, 3)
        stage.wait_for_status("train", "Complete", failed=2)
        stage.wait_for_phase("train", "Complete", 3)
    assert runs(steps / "runs") == 3
    assert [row[0] for row in stage.attempts("train")] == ["failed", "failed", "succeeded"]
    assert "FailedToUpdateService" not in told_here(stage)
    stage.forensics_hold("train")


def test_a_namespace_is_taken_over_in_mid_retry_and_given_back(stage: Stage) -> None:
    """The operator is stopped in attempt 2: one job ends here, one is retried and given back."""
    ends, retried = stage.site.directory / "ends", stage.site.directory / "retried"
    namespace = stage.site.api.namespace
    with stage.kuberay():
        for name, steps, fails in (("ends", ends, 1), ("retried", retried, 2)):
            entrypoint = stepwise(steps, fails=fails)
            stage.site.submit(rayjob(name, entrypoint, mode="K8sJobMode", backoffLimit=3))
            stage.goes_on(steps, 1)
        for name, steps in (("ends", ends), ("retried", retried)):
            stage.wait_for_status(name, "Running", failed=1)
            stage.has_begun(steps, 2)
    with stage.service("controller", "--control-namespace", namespace, "--take-over"):
        stage.goes_on(ends, 2)
        stage.goes_on(retried, 2)
        stage.wait_for_status("ends", "Complete", failed=1)
        stage.wait_for_status("retried", "Initializing", failed=2)
        named = stage.status("retried")["rayClusterName"]
        wait_until(lambda: stage.admin.get(RAYCLUSTERS, named).code == 200, "its RayCluster is")
    with stage.kuberay(), stage.recorder(replica="again"):
        stage.has_begun(retried, 3)
        stage.goes_on(retried, 3)
        stage.wait_for_status("retried", "Complete", failed=2)
        stage.wait_for_phase("retried", "Complete", 3)
        assert stage.status("retried")["rayClusterName"] == named
    assert (runs(ends / "runs"), runs(retried / "runs")) == (2, 3)
    for name in ("ends", "retried"):
        stage.forensics_hold(name)


def test_a_namespace_is_handed_over_by_a_policy(stage: Stage) -> None:
    """New jobs are named Jobledger's by admission; KubeRay runs their RayClusters all the same."""
    file = stage.site.directory / "runs"
    with (
        managed_by_is_admitted(stage.admin),
        stage.names_new_jobs(),
        stage.kuberay(),
        stage.service("controller", "--control", "managed-by"),
    ):
        job = rayjob("train", counting(file, fails=1), mode="K8sJobMode", backoffLimit=1)
        stage.site.submit(job)
        stage.wait_for_status("train", "Complete", failed=1)
        stage.wait_for_phase("train", "Complete", 2)
        assert "ray-operator" not in stage.writers("train")
    assert runs(file) == 2


def test_out_of_a_namespace_the_operator_makes_no_pods_of_rayclusters_either(stage: Stage) -> None:
    """`--watch-namespace` keeps out both of its controllers: jobs wait for their RayClusters."""
    with (
        stage.kuberay("--watch-namespace=elsewhere"),
        stage.service("controller"),
    ):
        stage.site.submit(rayjob("train", "true", preRunningDeadlineSeconds=3))
        stage.wait_for_status("train", "Failed", failed=1)
    assert stage.status("train")["reason"] == "PreRunningDeadlineExceeded"


def test_definitions_are_upgraded_while_a_job_is_handed_over(stage: Stage) -> None:
    """KubeRay's newer definitions drop the new name: what is handed over goes on nevertheless."""
    steps = stage.site.directory / "steps"
    with (
        as_upstream_released(stage.admin),
        stage.kuberay(),
        stage.service("controller", "--control", "managed-by"),
    ):
        with managed_by_is_admitted(stage.admin):
            entrypoint = stepwise(steps, fails=2)
            job = rayjob("train", entrypoint, mode="K8sJobMode", backoffLimit=3)
            stage.site.submit({**job, "spec": {**job["spec"], **OURS}})
            stage.has_begun(steps, 1)
            newest(stage.admin)
            stage.goes_on(steps, 1)
            stage.wait_for_status("train", "Running", failed=1)
            refused = stage.admin.create(RAYJOBS, rayjob("later", "true", **OURS))
            assert refused.code == 422, refused.message  # Unprocessable
            for step in (2, 3):
                stage.goes_on(steps, step)
            stage.wait_for_status("train", "Complete", failed=2)
        stage.wait_for_phase("train", "Complete", 3)
    assert runs(steps / "runs") == 3
    stage.forensics_hold("train")
