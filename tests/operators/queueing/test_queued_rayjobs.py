"""RayJobs under the real Kueue, with Jobledger in the place of KubeRay's RayJob controller.

A story that runs in two ways expects the same of Jobledger and of KubeRay's own operator.
"""

import pytest

from tests.acceptance.jobs import runs
from tests.acceptance.witness import BATCH_JOBS, RAYCLUSTERS, RAYJOBS
from tests.operators.queueing.conftest import Queues
from tests.operators.queueing.queue import FLAVOR_LABEL, QUEUE_LABEL, TOLERATION, Queue
from tests.operators.stage import SEEN_SECONDS, stepwise
from tests.operators.test_retrying import held_cluster
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

both = pytest.mark.parametrize("by", ["jobledger", "kuberay"])

RUNS = range(1, 10)
"""More than there are: how often a job begins anew is a matter of chance where two disagree."""
ADMITTED = [("QuotaReserved", "QuotaReserved"), ("Admitted", "Admitted")]


@both
def test_the_second_of_two_rayjobs_waits_until_the_first_has_failed_for_good(
    queues: Queues, by: str
) -> None:
    """Quota for one: all attempts of the first are one admission, the other has none till then."""
    with queues(by) as queue:
        stage, site = queue.stage, queue.stage.site
        first, second = site.directory / "first", site.directory / "second"
        job = queue.rayjob("first", stepwise(first, fails=2), mode="K8sJobMode", backoffLimit=1)
        job["spec"]["submitterConfig"] = {"backoffLimit": 0}
        assert queue.submit(job)["spec"]["suspend"] is True
        stage.has_begun(first, 1)
        queue.wait_for("first", "PodsReady")
        queue.submit(queue.rayjob("second", stepwise(second, fails=0), mode="K8sJobMode"))
        queue.waits("second")
        stage.wait_for_status("second", "Suspended")
        stage.goes_on(first, 1)
        stage.has_begun(first, 2)
        assert queue.witness.clusters_of("second") == []
        assert "Admitted" not in queue.conditions("second")
        stage.goes_on(first, 2)
        assert queue.wait_for("first", "Finished")["reason"] == "Failed"
        stage.has_begun(second, 1)
        stage.goes_on(second, 1)
        assert queue.wait_for("second", "Finished")["reason"] == "Succeeded"
        assert queue.told_by_kueue("first") == [*ADMITTED, ("Finished", "Failed")]
        assert queue.told_by_kueue("second") == [*ADMITTED, ("Finished", "Succeeded")]
        assert stage.status("first")["failed"] == 2
        are_where_kueue_put_them(queue)
        if queue.is_ours:
            assert [row[0] for row in stage.attempts("first")] == ["failed", "failed"]
            assert [row[0] for row in stage.attempts("second")] == ["succeeded"]
            stage.forensics_hold("second")


def are_where_kueue_put_them(queue: Queue) -> None:
    """Fail unless every head and every submitter was made for the flavor that was admitted."""
    heads = [
        told.document["spec"]["headGroupSpec"]["template"]
        for told in queue.witness.told(RAYCLUSTERS)
        if told.verb == "ADDED"
    ]
    submitters = [
        told.document["spec"]["template"]
        for told in queue.witness.told(BATCH_JOBS)
        if told.verb == "ADDED"
    ]
    for template in (*heads, *submitters):
        assert template["spec"]["nodeSelector"] == {FLAVOR_LABEL: queue.flavor}
        assert TOLERATION in template["spec"]["tolerations"]
    for told in queue.witness.told(RAYCLUSTERS):
        assert told.document["metadata"]["labels"].get(QUEUE_LABEL), "Kueue knows its child by it"


@both
def test_a_rayjob_is_preempted_while_it_runs_and_admitted_again(queues: Queues, by: str) -> None:
    """It gives up its RayCluster before the other has one, and begins anew when that has ended."""
    with queues(by) as queue:
        stage, site = queue.stage, queue.stage.site
        low, high = site.directory / "low", site.directory / "high"
        queue.submit(queue.rayjob("low", stepwise(low, fails=0), backoffLimit=1))
        stage.has_begun(low, 1)
        queue.submit(queue.urgently(queue.rayjob("high", stepwise(high, fails=0))))
        stage.has_begun(high, 1)
        stage.wait_for_status("low", "Suspended")
        (given_up,), (begun,) = (queue.witness.clusters_of(name) for name in ("low", "high"))
        assert given_up.ended is not None
        assert given_up.ended < begun.begun
        template = stage.admin.get(RAYJOBS, "low").body["spec"]["rayClusterSpec"]
        assert "nodeSelector" not in template["headGroupSpec"]["template"]["spec"]
        stage.goes_on(high, 1)
        stage.has_begun(low, 2)
        stage.goes_on(low, 2)
        assert queue.wait_for("low", "Finished")["reason"] == "Succeeded"
        assert queue.told_by_kueue("low") == [
            *ADMITTED,
            ("Evicted", "Preempted"),
            ("Requeued", "Preempted"),
            *ADMITTED,
            ("Finished", "Succeeded"),
        ]
        status = stage.status("low")
        assert (status["succeeded"], status["failed"]) == (1, 0), "a preemption is no failure"
        assert runs(low / "runs") == 2
        if queue.is_ours:
            assert [row[0] for row in stage.attempts("low")] == ["suspended", "succeeded"]
            stage.forensics_hold("low")


def test_a_rayjob_is_preempted_while_retrying_and_admitted_again(queues: Queues) -> None:
    """Its quota is freed when its RayCluster is gone; no other is made, and the failure counts."""
    with queues("jobledger") as queue:
        stage, site = queue.stage, queue.stage.site
        low, high = site.directory / "low", site.directory / "high"
        queue.submit(queue.rayjob("low", stepwise(low, fails=1), backoffLimit=1))
        stage.has_begun(low, 1)
        stage.wait_for_status("low", "Running")
        with held_cluster(stage, "low"):
            stage.goes_on(low, 1)
            stage.wait_for_status("low", "Retrying", failed=1)
            queue.submit(queue.urgently(queue.rayjob("high", stepwise(high, fails=0))))
            queue.wait_for("low", "Evicted")
            stage.wait_for_event("low", "SuspensionPostponed")
            assert queue.conditions("low")["QuotaReserved"]["status"] == "True"
            assert queue.witness.clusters_of("high") == []
        stage.wait_for_status("low", "Suspended", failed=1)
        stage.has_begun(high, 1)
        (given_up,), (begun,) = (queue.witness.clusters_of(name) for name in ("low", "high"))
        assert given_up.ended is not None
        assert given_up.ended < begun.begun
        stage.goes_on(high, 1)
        stage.has_begun(low, 2)
        stage.goes_on(low, 2)
        assert queue.wait_for("low", "Finished")["reason"] == "Succeeded"
        assert [row[0] for row in stage.attempts("low")] == ["failed", "succeeded"]
        status = stage.status("low")
        assert (status["succeeded"], status["failed"]) == (1, 1)
        stage.forensics_hold("low")


@both
def test_a_rayjob_stops_with_its_workload_and_comes_back_with_it(queues: Queues, by: str) -> None:
    """Deactivated (`spec.active: false`) it stays suspended; deleted, it is queued anew at once."""
    with queues(by) as queue:
        stage, steps = queue.stage, queue.stage.site.directory / "steps"
        queue.submit(queue.rayjob("train", stepwise(steps, fails=0)))
        stage.has_begun(steps, 1)
        queue.change_workload("train", active=False)
        assert queue.wait_for("train", "Evicted")["reason"] == "Deactivated"
        stage.wait_for_status("train", "Suspended")
        queue.wait_for("train", "QuotaReserved", "False")
        queue.change_workload("train", active=True)
        stage.has_begun(steps, 2)
        queue.delete_workload("train")
        stage.has_begun(steps, 3)
        stage.goes_on(steps, 3)
        assert queue.wait_for("train", "Finished")["reason"] == "Succeeded"
        if queue.is_ours:
            outcomes = [row[0] for row in stage.attempts("train")]
            assert outcomes == ["suspended", "suspended", "succeeded"]
            stage.forensics_hold("train")


@both
def test_a_rayjob_that_is_not_valid_holds_no_quota(queues: Queues, by: str) -> None:
    """Its status is ValidationFailed although it waits; the next job runs."""
    with queues(by) as queue:
        stage, steps = queue.stage, queue.stage.site.directory / "steps"
        queue.submit(queue.rayjob("wrong", "true", runtimeEnvYAML="{", backoffLimit=1))
        stage.wait_for_status("wrong", "ValidationFailed")
        queue.submit(queue.rayjob("right", stepwise(steps, fails=0)))
        stage.has_begun(steps, 1)
        stage.goes_on(steps, 1)
        assert queue.wait_for("right", "Finished")["reason"] == "Succeeded"
        assert stage.status("wrong")["jobDeploymentStatus"] == "ValidationFailed"
        assert queue.witness.clusters_of("wrong") == []


def test_a_rayjob_is_suspended_and_resumed_by_its_user_against_kueue(queues: Queues) -> None:
    """Kueue takes back what the user does; what the job had to give up, it begins anew."""
    with queues("jobledger") as queue:
        stage, site = queue.stage, queue.stage.site
        first, second = site.directory / "first", site.directory / "second"
        queue.submit(queue.rayjob("first", stepwise(first, fails=0)))
        stage.has_begun(first, 1)
        queue.submit(queue.rayjob("second", stepwise(second, fails=0)))
        queue.waits("second")
        stage.wait_for_status("second", "Suspended")
        generation = queue.generation("second")
        site.change("second", suspend=False)
        wait_until(
            lambda: queue.generation("second") >= generation + 2,
            "Kueue has suspended it again",
            SEEN_SECONDS,
        )
        site.change("first", suspend=True)
        for run in RUNS:
            stage.goes_on(first, run)
        assert queue.wait_for("first", "Finished")["reason"] == "Succeeded"
        for run in RUNS:
            stage.goes_on(second, run)
        assert queue.wait_for("second", "Finished")["reason"] == "Succeeded"
        for name in ("first", "second"):
            outcomes = [row[0] for row in stage.attempts(name)]
            assert outcomes[-1] == "succeeded"
            assert set(outcomes[:-1]) <= {"suspended"}
            stage.forensics_hold(name)
