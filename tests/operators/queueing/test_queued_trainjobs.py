"""TrainJobs under the real Kueue, with Jobledger in the place of Trainer's manager.

A story that runs in two ways expects the same of Jobledger and of Trainer's own manager. JobSets
are the real JobSet controller's.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.jobs import runs
from tests.acceptance.witness import JOBSETS, TRAINJOBS
from tests.operators.queueing.conftest import Queues
from tests.operators.queueing.queue import FLAVOR_LABEL, TOLERATION, Queue
from tests.operators.stage import SEEN_SECONDS, stepwise_command
from tests.operators.test_trainer import remove_webhooks
from tests.support.apiserver import ApiServer
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

both = pytest.mark.parametrize("by", ["jobledger", "trainer"])

ADMITTED = [("QuotaReserved", "QuotaReserved"), ("Admitted", "Admitted")]
RUNS = range(1, 10)
"""More than there are: how often a job begins anew is a matter of chance where two disagree."""
MANAGER = "kueue.x-k8s.io/manager"


@pytest.fixture(autouse=True)
def without_webhooks_afterwards(operator_server: ApiServer) -> Iterator[None]:
    """Leave none of Trainer's webhooks behind, which would refuse what others make."""
    yield
    remove_webhooks(operator_server.api())


def placed(queue: Queue, name: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return node selector and tolerations of the nodes in a TrainJob's JobSet."""
    jobset = queue.stage.admin.get(JOBSETS, name).body
    (group,) = jobset["spec"]["replicatedJobs"]
    spec = group["template"]["spec"]["template"]["spec"]
    return spec.get("nodeSelector", {}), spec.get("tolerations", [])


def patch_of_kueue(queue: Queue, name: str) -> dict[str, Any]:
    """Return what Kueue's runtime patch has for a TrainJob's JobSet."""
    patches = queue.stage.admin.get(TRAINJOBS, name).body["spec"]["runtimePatches"]
    (found,) = [one for one in patches if one["manager"] == MANAGER]
    return dict(found["trainingRuntimeSpec"]["template"]["spec"])


@both
def test_the_second_of_two_trainjobs_waits_until_the_first_has_failed(
    queues: Queues, by: str
) -> None:
    """Quota for one: the other is suspended until then; nodes get what Kueue's patch says."""
    with queues(by) as queue:
        stage, site = queue.stage, queue.stage.site
        first, second = site.directory / "first", site.directory / "second"
        queue.make_runtime()
        job = queue.trainjob("first", *stepwise_command(first, fails=1))
        assert queue.submit(job)["spec"]["suspend"] is True
        stage.has_begun(first, 1)
        queue.wait_for("first", "PodsReady")
        queue.submit(queue.trainjob("second", *stepwise_command(second, fails=0)))
        queue.waits("second")
        stage.wait_for_condition("second", "Suspended")
        assert placed(queue, "first") == ({FLAVOR_LABEL: queue.flavor}, [TOLERATION])
        assert "Admitted" not in queue.conditions("second")
        stage.goes_on(first, 1)
        assert queue.wait_for("first", "Finished")["reason"] == "Failed"
        stage.has_begun(second, 1)
        assert placed(queue, "second") == ({FLAVOR_LABEL: queue.flavor}, [TOLERATION])
        stage.goes_on(second, 1)
        assert queue.wait_for("second", "Finished")["reason"] == "Succeeded"
        assert queue.told_by_kueue("first") == [*ADMITTED, ("Finished", "Failed")]
        assert queue.told_by_kueue("second") == [*ADMITTED, ("Finished", "Succeeded")]
        if queue.is_ours:
            assert [row[0] for row in stage.attempts("first")] == ["failed"]
            assert [row[0] for row in stage.attempts("second")] == ["succeeded"]
            stage.forensics_hold("second")


@both
def test_a_trainjob_is_preempted_while_it_runs_and_admitted_again(queues: Queues, by: str) -> None:
    """It gives up its nodes for the other, and has new ones, placed anew, when that has ended."""
    with queues(by) as queue:
        stage, site = queue.stage, queue.stage.site
        low, high = site.directory / "low", site.directory / "high"
        queue.make_runtime()
        queue.submit(queue.trainjob("low", *stepwise_command(low, fails=0)))
        stage.has_begun(low, 1)
        queue.wait_for("low", "PodsReady")
        queue.submit(queue.urgently(queue.trainjob("high", *stepwise_command(high, fails=0))))
        stage.has_begun(high, 1)
        stage.wait_for_condition("low", "Suspended")
        stage.wait_for_counts("low", active=0)
        queue.wait_for("low", "QuotaReserved", "False")
        assert "replicatedJobs" not in patch_of_kueue(queue, "low")
        stage.goes_on(high, 1)
        stage.has_begun(low, 2)
        assert placed(queue, "low") == ({FLAVOR_LABEL: queue.flavor}, [TOLERATION])
        stage.goes_on(low, 2)
        assert queue.wait_for("low", "Finished")["reason"] == "Succeeded"
        assert queue.told_by_kueue("low") == [
            *ADMITTED,
            ("Evicted", "Preempted"),
            ("Requeued", "Preempted"),
            *ADMITTED,
            ("Finished", "Succeeded"),
        ]
        assert runs(low / "runs") == 2
        if queue.is_ours:
            assert [row[0] for row in stage.attempts("low")] == ["suspended", "succeeded"]
            stage.forensics_hold("low")


@both
def test_a_trainjob_stops_with_its_workload_and_comes_back_with_it(queues: Queues, by: str) -> None:
    """Deactivated (`spec.active: false`) it stays suspended; deleted, it is queued anew at once."""
    with queues(by) as queue:
        stage, steps = queue.stage, queue.stage.site.directory / "steps"
        queue.make_runtime()
        queue.submit(queue.trainjob("train", *stepwise_command(steps, fails=0)))
        stage.has_begun(steps, 1)
        queue.change_workload("train", active=False)
        assert queue.wait_for("train", "Evicted")["reason"] == "Deactivated"
        stage.wait_for_condition("train", "Suspended")
        queue.wait_for("train", "QuotaReserved", "False")
        queue.change_workload("train", active=True)
        stage.has_begun(steps, 2)
        queue.delete_workload("train")
        stage.has_begun(steps, 3)
        stage.goes_on(steps, 3)
        assert queue.wait_for("train", "Finished")["reason"] == "Succeeded"
        assert placed(queue, "train") == ({FLAVOR_LABEL: queue.flavor}, [TOLERATION])
        if queue.is_ours:
            outcomes = [row[0] for row in stage.attempts("train")]
            assert outcomes == ["suspended", "suspended", "succeeded"]
            stage.forensics_hold("train")


def test_a_trainjob_is_suspended_and_resumed_by_its_user_against_kueue(queues: Queues) -> None:
    """Kueue takes back what the user does; what the job had to give up, it begins anew."""
    with queues("jobledger") as queue:
        stage, site = queue.stage, queue.stage.site
        first, second = site.directory / "first", site.directory / "second"
        queue.make_runtime()
        queue.submit(queue.trainjob("first", *stepwise_command(first, fails=0)))
        stage.has_begun(first, 1)
        queue.submit(queue.trainjob("second", *stepwise_command(second, fails=0)))
        queue.waits("second")
        stage.wait_for_condition("second", "Suspended")
        generation = queue.generation("second", TRAINJOBS)
        suspend(queue, "second", suspended=False)
        wait_until(
            lambda: queue.generation("second", TRAINJOBS) >= generation + 2,
            "Kueue has suspended it again",
            SEEN_SECONDS,
        )
        suspend(queue, "first", suspended=True)
        for run in RUNS:
            stage.goes_on(first, run)
        assert queue.wait_for("first", "Finished")["reason"] == "Succeeded"
        for run in RUNS:
            stage.goes_on(second, run)
        assert queue.wait_for("second", "Finished")["reason"] == "Succeeded"
        for name in ("first", "second"):
            outcomes = {row[0] for row in stage.attempts(name)}
            assert outcomes <= {"suspended", "succeeded"}, "what ends in between is suspended"
            stage.forensics_hold(name)


def suspend(queue: Queue, name: str, *, suspended: bool) -> None:
    """Set `spec.suspend`, as a user may."""
    reply = queue.stage.site.api.merge(TRAINJOBS, name, {"spec": {"suspend": suspended}})
    assert reply.code == 200, reply.message  # OK
