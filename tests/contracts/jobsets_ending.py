"""How a JobSet ends: success and failure policies, restarts, its own deletion."""

from tests.support.jobsets import JOBSETS, Bench, Document, group, shell, waiting_for

RESTARTING = "RestartingJobSet"


def a_jobset_is_complete_when_all_jobs_are(bench: Bench) -> None:
    """Condition, terminal state and counters."""
    bench.start(group("a", "true", replicas=2), group("b", "true"))
    said = ("AllJobsCompleted", "jobset completed successfully")
    assert bench.wait_for("Completed") == said
    status = bench.status()
    assert status["terminalState"] == "Completed"
    assert [one["type"] for one in status["conditions"]] == ["Completed"]
    assert bench.counts("a") == {"succeeded": 2}
    assert bench.counts("b") == {"succeeded": 1}
    assert status.get("restarts", 0) == 0


def one_job_may_be_enough(bench: Bench) -> None:
    """The operator Any; what still runs is deleted."""
    bench.start(group("a", "sleep", "600"), group("b", "true"), successPolicy={"operator": "Any"})
    bench.wait_for("Completed")
    bench.wait(lambda: list(bench.jobs()) == [f"{bench.name}-b-0"], "what still ran has gone")
    bench.wait(lambda: bench.counts("a") == {}, "and is not counted")


def only_the_named_groups_have_to_succeed(bench: Bench) -> None:
    """All Jobs of the targets."""
    target = {"operator": "All", "targetReplicatedJobs": ["b"]}
    bench.start(group("a", "sleep", "600"), group("b", "true", replicas=2), successPolicy=target)
    bench.wait_for("Completed")
    assert bench.counts("b") == {"succeeded": 2}


def without_a_failure_policy_one_failure_is_the_end(bench: Bench) -> None:
    """The message names the Job; what still runs is deleted."""
    bench.start(group("a", "sleep", "600"), group("b", "false"))
    message = "jobset failed due to one or more job failures"
    said = ("FailedJobs", f"{message} (first failed job: {bench.name}-b-0)")
    assert bench.wait_for("Failed") == said
    assert bench.status()["terminalState"] == "Failed"
    assert bench.counts("b") == {"failed": 1}
    bench.wait(lambda: list(bench.jobs()) == [f"{bench.name}-b-0"], "what still ran has gone")


def a_failed_job_restarts_them_all(bench: Bench) -> None:
    """The Jobs of the next attempt have the same names; restarts are counted."""
    once = shell(f"[ -e {bench.file('tried')} ] || {{ touch {bench.file('tried')}; exit 1; }}")
    gate = bench.file("gate")
    bench.start(group("a", *waiting_for(gate)), group("b", *once), failurePolicy={"maxRestarts": 2})
    bench.wait(lambda: bench.status().get("restarts") == 1, "it was restarted")
    bench.wait(lambda: bench.counts("b") == {"succeeded": 1}, "the second attempt succeeds")
    assert bench.status()["restartsCountTowardsMax"] == 1
    bench.wait(lambda: bench.counts("a") == {"active": 1, "ready": 1}, "a runs again")
    ready = ("JobsReady", "all jobs are ready")
    assert bench.wait_for(RESTARTING, "False") == ready
    gate.touch()
    bench.wait_for("Completed")
    for job in bench.jobs().values():
        attempt = "jobset.sigs.k8s.io/restart-attempt"
        assert job["metadata"]["labels"][attempt] == "1"
        assert job["spec"]["template"]["metadata"]["labels"][attempt] == "1"
    assert [one["type"] for one in bench.status()["conditions"]] == [RESTARTING, "Completed"]


def restarts_are_limited(bench: Bench) -> None:
    """After the last of them the JobSet has failed."""
    bench.start(group("a", "false"), failurePolicy={"maxRestarts": 1})
    message = "jobset failed due to reaching max number of restarts"
    said = ("ReachedMaxRestarts", f"{message} (first failed job: {bench.name}-a-0)")
    assert bench.wait_for("Failed") == said
    status = bench.status()
    assert (status["restarts"], status["restartsCountTowardsMax"]) == (1, 1)
    assert bench.condition(RESTARTING) == ("False", "JobSetFailed", "jobset failed")


def a_rule_may_end_it_at_once(bench: Bench) -> None:
    """The first rule that matches decides."""
    rules: list[Document] = [
        {"name": "other", "action": "RestartJobSet", "onJobFailureReasons": ["DeadlineExceeded"]},
        {"name": "end", "action": "FailJobSet", "targetReplicatedJobs": ["b"]},
    ]
    bench.start(
        group("a", "sleep", "600"),
        group("b", "false"),
        failurePolicy={"maxRestarts": 5, "rules": rules},
    )
    message = f"applying FailJobSet failure policy action (first failed job: {bench.name}-b-0)"
    assert bench.wait_for("Failed") == ("FailJobSetFailurePolicyAction", message)
    assert bench.status().get("restarts", 0) == 0


def a_rule_may_restart_without_counting(bench: Bench) -> None:
    """Such restarts are beyond the limit; the condition names the rule."""
    tries = bench.file("tries")
    thrice = shell(f"echo x >> {tries}; [ $(wc -l < {tries}) -ge 3 ]")
    rules = [
        {
            "name": "free",
            "action": "RestartJobSetAndIgnoreMaxRestarts",
            "onJobFailureReasons": ["BackoffLimitExceeded"],
            "onJobFailureMessagePatterns": ["specified backoff .*"],
        }
    ]
    gate = bench.file("gate")
    bench.start(
        group("a", *thrice),
        group("b", *waiting_for(gate)),
        failurePolicy={"maxRestarts": 0, "rules": rules},
    )
    bench.wait(lambda: bench.counts("a") == {"succeeded": 1}, "the third attempt succeeds")
    status = bench.status()
    assert (status["restarts"], status.get("restartsCountTowardsMax", 0)) == (2, 0)
    bench.wait(lambda: bench.counts("b") == {"active": 1, "ready": 1}, "b runs again")
    bench.wait_for(RESTARTING, "False")
    gate.touch()
    bench.wait_for("Completed")


def a_blocking_restart_waits_for_the_last_job(bench: Bench) -> None:
    """No Job of the next attempt is there beside one of the last."""
    tries = bench.file("tries")
    twice = shell(f"echo x >> {tries}; [ $(wc -l < {tries}) -ge 2 ]")
    policy = {"maxRestarts": 1, "restartStrategy": "BlockingRecreate"}
    bench.start(group("a", *twice), group("b", "true"), failurePolicy=policy)
    bench.wait_for("Completed")
    assert bench.status()["restarts"] == 1


def a_failed_job_is_judged_before_one_that_succeeded(bench: Bench) -> None:
    """Failure comes first, whatever the success policy says."""
    gate = bench.file("gate")
    bench.start(group("a", "false"), group("b", *waiting_for(gate)))
    bench.wait_for("Failed")
    gate.touch()
    assert bench.condition("Completed") == ("", "", "")


def an_ended_jobset_goes_after_its_ttl(bench: Bench) -> None:
    """With its Jobs and their Pods."""
    bench.start(group("a", "true"), ttlSecondsAfterFinished=0)
    bench.wait(lambda: bench.api.get(JOBSETS, bench.name).code == 404, "it has gone")
    bench.wait(lambda: not bench.jobs() and not bench.pods(), "Jobs and Pods have gone")
