"""How a life ends: success, failure and restarts of the JobSet, deadlines."""

from tests.acceptance.trainjobs import torch_runtime
from tests.acceptance.witness import JOBSETS
from tests.operators.train_lives.cases.table import (
    begin,
    job,
    life,
    running,
    two_groups,
    two_groups_at_once,
    unhooked,
)
from tests.operators.train_lives.world import World


@life
def succeeds(w: World) -> None:
    running(w)
    w.end()
    w.settle("ended")


@life
def fails(w: World) -> None:
    running(w)
    w.end(fails=True)
    w.settle("ended")


@life
def jobset_restarts(w: World) -> None:
    running(w, torch_runtime("torch", failurePolicy={"maxRestarts": 1}))
    w.end(fails=True)
    w.settle("failed once")
    w.run()
    w.settle("runs again")
    w.end(fails=True)
    w.settle("failed twice")


@life
def jobset_restarts_and_succeeds(w: World) -> None:
    running(w, torch_runtime("torch", failurePolicy={"maxRestarts": 2}))
    w.end(fails=True)
    w.settle("failed once")
    w.run()
    w.end()
    w.settle("ended")


@life
def failure_policy_fails_the_jobset(w: World) -> None:
    rule = {
        "name": "never",
        "action": "FailJobSet",
        "onJobFailureReasons": ["BackoffLimitExceeded"],
    }
    running(w, torch_runtime("torch", failurePolicy={"maxRestarts": 2, "rules": [rule]}))
    w.end(fails=True)
    w.settle("failed")


@life
def restart_without_limit(w: World) -> None:
    rules = [{"name": "again", "action": "RestartJobSetAndIgnoreMaxRestarts"}]
    running(w, torch_runtime("torch", failurePolicy={"maxRestarts": 0, "rules": rules}))
    for number in range(2):
        w.end(fails=True)
        w.settle(f"failed {number}")
        w.run()
        w.settle(f"runs {number}")
    w.end()
    w.settle("ended")


@life
def ttl_of_the_jobset_after_success(w: World) -> None:
    running(w, torch_runtime("torch", ttlSecondsAfterFinished=3))
    w.end()
    w.settle("ended", 6)


@life
def ttl_of_the_jobset_after_failure(w: World) -> None:
    running(w, torch_runtime("torch", ttlSecondsAfterFinished=3))
    w.end(fails=True)
    w.settle("ended", 6)


@life
def dependency(w: World) -> None:
    begin(w, two_groups())
    w.run("prepare")
    w.settle("prepares")
    w.end("prepare")
    w.settle("prepared")
    w.run("node")
    w.settle("runs")
    w.change(suspend=True)
    w.settle("suspended")
    w.change(suspend=False)
    w.settle("resumed")
    w.run("node")
    w.end("node")
    w.settle("ended")


@life
def success_of_any(w: World) -> None:
    begin(w, two_groups_at_once(successPolicy={"operator": "Any"}))
    w.run(count=2)
    w.settle("runs")
    w.end("prepare")
    w.settle("ended")


@life
def success_of_one_group(w: World) -> None:
    policy = {"operator": "All", "targetReplicatedJobs": ["prepare"]}
    begin(w, two_groups_at_once(successPolicy=policy))
    w.run(count=2)
    w.end("node")
    w.settle("node ended")
    w.end("prepare")
    w.settle("ended")


@life
def one_group_fails_after_the_other_succeeded(w: World) -> None:
    begin(w, two_groups())
    w.run("prepare")
    w.end("prepare")
    w.settle("prepared")
    w.run("node")
    w.end("node", fails=True)
    w.settle("failed")


@life
def in_order(w: World) -> None:
    begin(w, two_groups_at_once(startupPolicy={"startupPolicyOrder": "InOrder"}))
    w.run("prepare")
    w.settle("first runs")
    w.run("node")
    w.settle("second runs")
    w.end()
    w.settle("ended")


@life
def deadline_passes(w: World) -> None:
    running(w, activeDeadlineSeconds=12)
    w.wait(lambda: not w.has_jobset(), 40)
    w.settle("over", 4)
    w.change(suspend=True)
    w.settle("suspended afterwards")


@life
def deadline_counts_from_the_resume(w: World) -> None:
    begin(w, activeDeadlineSeconds=8, suspend=True)
    w.settle("waits", 9)
    w.change(suspend=False)
    w.run()
    w.settle("runs", 1)
    w.wait(lambda: not w.has_jobset(), 40)
    w.settle("over", 4)


@life
def deadline_after_success(w: World) -> None:
    running(w, activeDeadlineSeconds=40)
    w.end()
    w.settle("ended", 40)


@life
def deadline_is_added(w: World) -> None:
    running(w)
    w.change(activeDeadlineSeconds=10)
    w.wait(lambda: not w.has_jobset(), 40)
    w.settle("over", 4)


@life
def suspended_and_deleted_jobset_after_a_deadline(w: World) -> None:
    running(w, activeDeadlineSeconds=25)
    w.change(suspend=True)
    w.settle("suspended", 8)
    w.delete(JOBSETS, "fit")
    w.settle("deleted")
    w.change(suspend=False)
    w.run()
    w.settle("resumed")


@unhooked
def no_runtime_and_a_deadline(w: World) -> None:
    w.submit(job(activeDeadlineSeconds=5))
    w.settle("no runtime", 12)
