"""What a batch Job does with its Pods: retries, limits, conditions, its own end."""

from typing import Any

from jobledger.core.ports.cluster import BATCH_JOBS, PODS
from tests.adapters.sandbox_data_plane.world import World, batch_job, shell, true_conditions
from tests.support.waiting import wait_until


def _reasons(status: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["type"], one["reason"]) for one in status["conditions"]]


def test_a_job_is_complete_when_its_pod_succeeded(world: World) -> None:
    world.create(BATCH_JOBS, batch_job("j", shell("true")))
    status = world.wait_for_condition(BATCH_JOBS, "j", "Complete")
    assert _reasons(status) == [
        ("SuccessCriteriaMet", "CompletionsReached"),
        ("Complete", "CompletionsReached"),
    ]
    assert status["succeeded"] == 1
    assert not {"failed", "active"} & status.keys(), "a count of nought is left out"
    assert status["uncountedTerminatedPods"] == {}
    assert status["completionTime"] >= status["startTime"]
    assert len(world.pods("job-name=j")) == 1


def test_a_job_that_another_controller_runs_is_left_alone(world: World) -> None:
    """Source: KEP-4368, and Kubernetes' documentation of `managedBy`."""
    other = batch_job("other", shell("true"), managedBy="example.com/controller")
    world.create(BATCH_JOBS, other)
    own = batch_job("own", shell("true"), managedBy="kubernetes.io/job-controller")
    world.create(BATCH_JOBS, own)
    world.wait_for_condition(BATCH_JOBS, "own", "Complete")
    assert world.pods("job-name=other") == []
    assert world.status(BATCH_JOBS, "other") == {}


def test_a_failed_pod_is_replaced_until_the_backoff_limit(world: World) -> None:
    world.create(BATCH_JOBS, batch_job("j", shell("exit 1"), backoffLimit=1))
    status = world.wait_for_condition(BATCH_JOBS, "j", "Failed")
    assert _reasons(status) == [
        ("FailureTarget", "BackoffLimitExceeded"),
        ("Failed", "BackoffLimitExceeded"),
    ]
    assert status["conditions"][1]["message"] == "Job has reached the specified backoff limit"
    assert (status["failed"], "succeeded" in status) == (2, False)
    assert "completionTime" not in status
    assert [pod["status"]["phase"] for pod in world.pods("job-name=j")] == ["Failed", "Failed"]


def test_a_pod_that_is_taken_away_counts_as_failed(world: World) -> None:
    world.create(BATCH_JOBS, batch_job("j", shell("sleep 600"), backoffLimit=0))
    wait_until(lambda: bool(world.status(BATCH_JOBS, "j").get("ready")), "its Pod runs")
    world.api.delete(PODS, "default", world.pods()[0]["metadata"]["name"])
    assert world.wait_for_condition(BATCH_JOBS, "j", "Failed")["failed"] == 1


def test_restarts_in_place_count_against_the_limit(world: World) -> None:
    job = batch_job("j", shell("exit 1"), backoffLimit=1, restartPolicy="OnFailure")
    world.create(BATCH_JOBS, job)
    world.wait_for_condition(BATCH_JOBS, "j", "Failed")
    wait_until(lambda: world.processes() == [], "nothing runs any more")


def test_several_completions_run_in_parallel(world: World) -> None:
    world.create(BATCH_JOBS, batch_job("j", shell("true"), completions=3, parallelism=2))
    assert world.wait_for_condition(BATCH_JOBS, "j", "Complete")["succeeded"] == 3
    assert len(world.pods()) == 3


def test_the_active_deadline_ends_a_job(world: World) -> None:
    world.create(BATCH_JOBS, batch_job("j", shell("sleep 600"), activeDeadlineSeconds=1))
    status = world.wait_for_condition(BATCH_JOBS, "j", "Failed")
    assert _reasons(status)[-1] == ("Failed", "DeadlineExceeded")
    assert world.pods() == []


def test_a_deadline_is_the_reason_also_if_the_pod_takes_its_time_to_go(world: World) -> None:
    """The Pod that goes then counts as failed, and is no reason of its own."""
    stubborn = shell("trap '' TERM; sleep 1 & wait; sleep 600")
    job = batch_job("j", stubborn, activeDeadlineSeconds=1, backoffLimit=0)
    job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    world.create(BATCH_JOBS, job)
    status = world.wait_for_condition(BATCH_JOBS, "j", "Failed")
    assert _reasons(status) == [
        ("FailureTarget", "DeadlineExceeded"),
        ("Failed", "DeadlineExceeded"),
    ]


def test_a_finished_job_goes_after_its_ttl(world: World) -> None:
    world.create(BATCH_JOBS, batch_job("j", shell("true"), ttlSecondsAfterFinished=0))
    wait_until(lambda: bool(world.api.writes) and world.get(BATCH_JOBS, "j") is None, "it has gone")
    wait_until(lambda: world.pods() == [], "its Pods have gone")


def test_a_suspended_job_has_no_pods(world: World) -> None:
    world.create(BATCH_JOBS, batch_job("j", shell("sleep 600"), suspend=True))
    world.wait_for_condition(BATCH_JOBS, "j", "Suspended")
    assert world.pods() == []
    world.api.merge_patch(BATCH_JOBS, "default", "j", {"spec": {"suspend": False}})
    wait_until(lambda: bool(world.status(BATCH_JOBS, "j").get("ready")), "it runs")
    assert true_conditions(world.status(BATCH_JOBS, "j")) == []


def test_an_ended_job_is_not_written_again(world: World) -> None:
    world.create(BATCH_JOBS, batch_job("j", shell("true")))
    world.wait_for_condition(BATCH_JOBS, "j", "Complete")
    before = [write for write in world.api.writes if write[1] == "jobs"]
    world.create(BATCH_JOBS, batch_job("other", shell("true")))
    world.wait_for_condition(BATCH_JOBS, "other", "Complete")
    after = [write for write in world.api.writes if write[1:] == ("jobs", "j")]
    assert before == after
