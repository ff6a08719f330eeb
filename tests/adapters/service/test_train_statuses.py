"""How a TrainJob's status and Kubernetes Events are written."""

from typing import Any

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.core.ports.cluster import CORE_EVENTS, TRAINJOBS
from jobledger.core.trainjob.policy import ConditionStyle, TrainPolicy
from jobledger.core.trainjob.status.status_format import TRAINJOB_STATUS
from jobledger.core.values.documents import Manifest, child, items, text
from tests.support.service_world import DOOR
from tests.support.train_world import TrainWorld

FORMAT = TRAINJOB_STATUS


def status(*conditions: tuple[str, str, str], **counts: int) -> dict[str, Any]:
    """A status with conditions and the counters of one replicatedJob."""
    shown = [{"type": kind, "status": value, "reason": why} for kind, value, why in conditions]
    return {"conditions": shown, "jobsStatus": [{"name": "node", **counts}]}


CREATED = ("Created", "True", "JobsCreationSucceeded")


def test_a_flip_of_a_condition_or_of_its_reason_is_not_merged_away() -> None:
    built = ("Created", "False", "JobsBuildFailed")
    made = ("Created", "False", "JobsCreationFailed")
    found = {FORMAT.milestone(status(one)) for one in (CREATED, built, made)}
    assert len(found) == 3


def test_that_jobs_are_active_or_no_longer_or_ready_is_not_merged_away() -> None:
    looks = (
        status(CREATED, active=1),
        status(CREATED, active=1, ready=1),
        status(CREATED, active=0),
        status(CREATED, succeeded=1, active=1),
    )
    assert len({FORMAT.milestone(one) for one in looks}) == 3, "ready and succeeded count as one"


def test_the_log_says_which_conditions_were_published() -> None:
    assert FORMAT.words(status(CREATED, ("Complete", "True", "x"))) == "Created=True, Complete=True"


def test_what_training_code_writes_is_left_alone() -> None:
    world = TrainWorld()
    world.install_runtime()
    world.train()
    progress = {"progressPercentage": 40, "lastUpdatedTime": "2026-11-21T12:00:00Z"}
    world.run(world.is_so("Created"), "the objects")
    before = child(world.trainjob, "status")
    world.cluster.edit(TRAINJOBS, "ml", "train", status={**before, "trainerStatus": progress})
    world.run(world.is_so("Complete"), "the end")
    assert child(world.trainjob, "status")["trainerStatus"] == progress


def test_conditions_that_others_write_over_are_written_anew() -> None:
    world = TrainWorld()
    world.install_runtime()
    world.jobsets.holds = True
    world.train()
    world.run(world.is_so("Created"), "the objects")
    before = child(world.trainjob, "status")
    world.cluster.edit(TRAINJOBS, "ml", "train", status={**before, "conditions": []})
    world.run(world.is_so("Created"), "the condition again")


def test_a_failed_build_is_told_by_an_event_that_the_sdk_can_read() -> None:
    world = TrainWorld()
    world.train()
    world.run(world.is_so("Created", "False"), "the failed build")
    (event,) = world.cluster.list(CORE_EVENTS, "ml").items
    assert (text(event, "reason"), text(event, "type")) == (
        "TrainJobResourcesCreationFailed",
        "Warning",
    )
    assert text(event, "message") == (
        "TrainJob resources reconciliation failed: "
        "ClusterTrainingRuntime specified in TrainJob is not found: torch"
    )
    assert text(event, "firstTimestamp") == text(event, "lastTimestamp") != ""
    assert text(event, "involvedObject", "kind") == "TrainJob"
    assert items(world.trainjob, "status", "conditions") != ()


def test_created_steps_back_while_the_job_runs_and_comes_back_with_its_end() -> None:
    policy = TrainPolicy(conditions=ConditionStyle.UNLESS_RUNNING)
    world = TrainWorld(mapper=DOOR.knowing(TrainInstallation(policy=policy)))
    world.install_runtime()
    world.jobsets.holds = True
    world.train()
    world.run(lambda: _counts(world).get("ready") == 1, "the job to run")
    assert not items(world.trainjob, "status", "conditions")
    assert world.jobsets.shown == [["Created=True"]], "it was shown before"
    world.jobsets.holds = False
    world.run(world.is_so("Complete"), "the end")
    assert world.jobsets.shown == [["Created=True"], ["Created=True", "Complete=True"]]


def _counts(world: TrainWorld) -> Manifest:
    found = items(world.trainjob, "status", "jobsStatus")
    return child(found[0]) if found else {}
