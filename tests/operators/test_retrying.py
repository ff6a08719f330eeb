"""Hand-over in the very middle of a retry, beside the real KubeRay operator.

A finalizer holds the RayCluster of the attempt that failed, so that the job stays in Retrying.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.acceptance.jobs import rayjob, runs
from tests.acceptance.witness import RAYCLUSTERS, RAYJOBS
from tests.operators.definitions import managed_by_is_admitted
from tests.operators.stage import Stage, stepwise
from tests.support.api import JSON_PATCH
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

OURS = {"managedBy": "jobledger.dev/controller"}
BACK = [{"op": "remove", "path": "/spec/managedBy"}]
HOLD = "tests.jobledger.dev/hold"


@contextmanager
def held_cluster(stage: Stage, job: str) -> Iterator[str]:
    """Hold the RayCluster of the attempt that runs, until the body ends; yield its name."""
    name = str(stage.status(job)["rayClusterName"])
    held = stage.admin.merge(RAYCLUSTERS, name, {"metadata": {"finalizers": [HOLD]}})
    assert held.code == 200, held.message  # OK
    try:
        yield name
    finally:
        stage.admin.merge(RAYCLUSTERS, name, {"metadata": {"finalizers": None}})


def is_retrying(stage: Stage, failed: int, cluster: str) -> None:
    """Return once the job waits for its RayCluster to be gone."""
    stage.wait_for_status("train", "Retrying", failed=failed)

    def is_being_deleted() -> bool:
        return "deletionTimestamp" in stage.admin.get(RAYCLUSTERS, cluster).body["metadata"]

    wait_until(is_being_deleted, "its RayCluster is being deleted")


def test_one_job_is_handed_over_while_retrying_and_given_back_so(stage: Stage) -> None:
    """Handed over while KubeRay deletes attempt 1, given back while attempt 2 is deleted here."""
    steps = stage.site.directory / "steps"
    with (
        managed_by_is_admitted(stage.admin),
        stage.kuberay(),
        stage.service("controller", "--control", "managed-by"),
    ):
        entrypoint = stepwise(steps, fails=2)
        stage.site.submit(rayjob("train", entrypoint, mode="K8sJobMode", backoffLimit=2))
        stage.has_begun(steps, 1)
        stage.wait_for_status("train", "Running")
        with held_cluster(stage, "train") as first:
            stage.goes_on(steps, 1)
            is_retrying(stage, 1, first)
            stage.site.change("train", **OURS)
            stage.wait_for_event("train", "ControlTaken")
        stage.has_begun(steps, 2)
        stage.wait_for_status("train", "Running", failed=1)
        with held_cluster(stage, "train") as second:
            stage.goes_on(steps, 2)
            is_retrying(stage, 2, second)
            path = stage.admin.path(RAYJOBS, "train")
            back = stage.admin.request("PATCH", path, BACK, content_type=JSON_PATCH)
            assert back.code == 200, back.message  # OK
            stage.wait_for_event("train", "ControlReleased", 2)
        stage.has_begun(steps, 3)
        stage.goes_on(steps, 3)
        stage.wait_for_status("train", "Complete", failed=2)
        stage.wait_for_phase("train", "Complete", 3)
    assert runs(steps / "runs") == 3
    assert [row[0] for row in stage.attempts("train")] == ["failed", "failed", "succeeded"]
    stage.forensics_hold("train")


def test_a_namespace_is_taken_over_while_retrying_and_given_back_so(stage: Stage) -> None:
    """The operator stops while it deletes attempt 1; it is back while attempt 2 is made."""
    steps, namespace = stage.site.directory / "steps", stage.site.api.namespace
    taken = stage.service("controller", "--control-namespace", namespace, "--take-over")
    with ExitStack() as held:
        with stage.kuberay():
            entrypoint = stepwise(steps, fails=1)
            stage.site.submit(rayjob("train", entrypoint, mode="K8sJobMode", backoffLimit=1))
            stage.has_begun(steps, 1)
            stage.wait_for_status("train", "Running")
            first = held.enter_context(held_cluster(stage, "train"))
            stage.goes_on(steps, 1)
            is_retrying(stage, 1, first)
        with taken:
            stage.wait_for_phase("train", "Retrying", 1)
            held.close()
            stage.wait_for_status("train", "Initializing", failed=1)
            taken.terminate()
    with stage.kuberay(), stage.recorder(replica="again"):
        stage.wait_for_event("train", "ControlReleased")
        stage.has_begun(steps, 2)
        stage.goes_on(steps, 2)
        stage.wait_for_status("train", "Complete", failed=1)
        stage.wait_for_phase("train", "Complete", 2)
    assert runs(steps / "runs") == 2
    stage.forensics_hold("train")
