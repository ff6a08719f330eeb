"""What Kueue takes for ready, and what it does with what is not (`waitForPodsReady`).

Of a RayJob it asks the copy of the RayCluster's status, of a TrainJob how many Jobs are ready. Pods
are ready while a file is there. Each story expects the same of Jobledger and of upstream's own
program.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.operators.queueing.conftest import Queues
from tests.operators.queueing.queue import Queue
from tests.operators.stage import SEEN_SECONDS, stepwise, stepwise_command
from tests.operators.test_trainer import remove_webhooks
from tests.support.apiserver import ApiServer
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

of_rayjobs = pytest.mark.parametrize("by", ["jobledger", "kuberay"])
of_trainjobs = pytest.mark.parametrize("by", ["jobledger", "trainer"])

SOON = "20s"
"""What is not ready within this time is evicted; more than one eviction is no mistake."""
RUNS = range(1, 10)
"""More than there are."""
ADMITTED = [("QuotaReserved", "QuotaReserved"), ("Admitted", "Admitted")]
REQUEUED = ("Requeued", "BackoffFinished")
LATE = [*ADMITTED, ("Evicted", "PodsReadyTimeout"), REQUEUED]
ENDS = [*ADMITTED, ("Finished", "Succeeded")]


@pytest.fixture(autouse=True)
def without_webhooks_afterwards(operator_server: ApiServer) -> Iterator[None]:
    """Leave none of Trainer's webhooks behind, which would refuse what others make."""
    yield
    remove_webhooks(operator_server.api())


def while_there(gate: Path) -> dict[str, Any]:
    """Return the readiness probe of a container that is ready while a file is there."""
    command = ["test", "-e", str(gate)]
    return {"exec": {"command": command}, "periodSeconds": 1, "failureThreshold": 1}


def gated(job: dict[str, Any], gate: Path) -> dict[str, Any]:
    """Return a RayJob whose head is ready while a file is there."""
    template = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]
    template["spec"]["containers"][0]["readinessProbe"] = while_there(gate)
    return job


def is_late(queue: Queue) -> None:
    """Return once Kueue has evicted the job as not ready, and has put it into the queue again."""
    wait_until(lambda: REQUEUED in queue.told_by_kueue("train"), "it is queued anew", SEEN_SECONDS)


def ended_at_last(queue: Queue) -> None:
    """Fail unless the job was late, was admitted again, became ready, and has succeeded."""
    assert queue.wait_for("train", "Finished")["reason"] == "Succeeded"
    told = queue.told_by_kueue("train")
    assert told[: len(LATE)] == LATE
    assert told[-len(ENDS) :] == ENDS
    assert queue.readiness("train") == ["WaitForStart", "Started"], "not ready before it is"
    if queue.is_ours:
        *before, last = [row[0] for row in queue.stage.attempts("train")]
        assert (set(before), last) == ({"suspended"}, "succeeded")
        queue.stage.forensics_hold("train")


@of_rayjobs
def test_a_rayjob_that_is_not_ready_in_time_is_queued_anew(queues: Queues, by: str) -> None:
    """Evicted by PodsReadyTimeout it gives up its RayCluster; that is no failure of an attempt."""
    with queues(by, ready_within=SOON) as queue:
        stage, site = queue.stage, queue.stage.site
        steps, gate = site.directory / "steps", site.directory / "gate"
        queue.submit(gated(queue.rayjob("train", stepwise(steps, fails=0), backoffLimit=1), gate))
        is_late(queue)
        assert queue.witness.clusters_of("train")[0].ended is not None
        gate.touch()
        stage.has_begun(steps, 1)
        queue.wait_for("train", "PodsReady")
        stage.goes_on(steps, 1)
        ended_at_last(queue)
        status = stage.status("train")
        assert (status["succeeded"], status["failed"]) == (1, 0)


@of_trainjobs
def test_a_trainjob_that_is_not_ready_in_time_is_queued_anew(queues: Queues, by: str) -> None:
    """Evicted by PodsReadyTimeout it gives up its nodes, and has new ones, which become ready."""
    with queues(by, ready_within=SOON) as queue:
        stage, site = queue.stage, queue.stage.site
        steps, gate = site.directory / "steps", site.directory / "gate"
        queue.make_runtime(readinessProbe=while_there(gate))
        queue.submit(queue.trainjob("train", *stepwise_command(steps, fails=0)))
        stage.has_begun(steps, 1)
        is_late(queue)
        gate.touch()
        queue.wait_for("train", "PodsReady")
        for run in RUNS:
            stage.goes_on(steps, run)
        ended_at_last(queue)


@of_rayjobs
def test_kueue_waits_for_the_raycluster_of_a_retry(queues: Queues, by: str) -> None:
    """Ready, not ready while the next attempt has no RayCluster that is, recovered: one quota."""
    with queues(by) as queue:
        stage, site = queue.stage, queue.stage.site
        steps, gate = site.directory / "steps", site.directory / "gate"
        gate.touch()
        queue.submit(gated(queue.rayjob("train", stepwise(steps, fails=1), backoffLimit=1), gate))
        stage.has_begun(steps, 1)
        assert queue.wait_for("train", "PodsReady")["reason"] == "Started"
        gate.unlink()
        stage.goes_on(steps, 1)
        assert queue.wait_for("train", "PodsReady", "False")["reason"] == "WaitForRecovery"
        gate.touch()
        stage.has_begun(steps, 2)
        assert queue.wait_for("train", "PodsReady")["reason"] == "Recovered"
        stage.goes_on(steps, 2)
        assert queue.wait_for("train", "Finished")["reason"] == "Succeeded"
        assert queue.told_by_kueue("train") == ENDS
        assert queue.readiness("train")[-3:] == ["Started", "WaitForRecovery", "Recovered"]


@of_trainjobs
def test_kueue_sees_that_a_node_is_ready_no_more(queues: Queues, by: str) -> None:
    """Ready, not ready while a node is not, recovered: what a TrainJob's status counts decides."""
    with queues(by) as queue:
        stage, site = queue.stage, queue.stage.site
        steps, gate = site.directory / "steps", site.directory / "gate"
        gate.touch()
        queue.make_runtime(readinessProbe=while_there(gate))
        queue.submit(queue.trainjob("train", *stepwise_command(steps, fails=0)))
        stage.has_begun(steps, 1)
        assert queue.wait_for("train", "PodsReady")["reason"] == "Started"
        gate.unlink()
        assert queue.wait_for("train", "PodsReady", "False")["reason"] == "WaitForRecovery"
        gate.touch()
        assert queue.wait_for("train", "PodsReady")["reason"] == "Recovered"
        stage.goes_on(steps, 1)
        assert queue.wait_for("train", "Finished")["reason"] == "Succeeded"
        assert queue.told_by_kueue("train") == ENDS
        assert queue.readiness("train")[-3:] == ["Started", "WaitForRecovery", "Recovered"]
