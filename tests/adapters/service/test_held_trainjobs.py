"""TrainJobs that cannot go, or cannot be built: what runs of them is still governed."""

from typing import Any

from jobledger.core.ports.cluster import CONFIGMAPS, JOBSETS, TRAINJOBS
from jobledger.core.values.documents import child, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.stories import is_let_go
from tests.support.train_world import TrainWorld

HELD = {"metadata": {"finalizers": ["example.com/keep"]}}


def a_held_job(**spec: Any) -> tuple[TrainWorld, StreamId]:  # noqa: ANN401 as users write it
    """Return a job that runs, and that somebody wants to delete and another holds."""
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train(**spec)
    world.run(world.is_so("Created"), "the objects")
    world.cluster.merge_patch(TRAINJOBS, "ml", "train", HELD)
    world.cluster.delete(TRAINJOBS, "ml", "train")
    assert text(world.trainjob, "metadata", "deletionTimestamp")
    return world, stream


def test_a_job_that_a_finalizer_holds_keeps_its_deadline() -> None:
    world, stream = a_held_job(activeDeadlineSeconds=60)
    world.run(world.is_so("Failed"), "the deadline")
    assert world.condition("Failed") == ("True", "DeadlineExceeded")
    world.run(lambda: world.jobset == {}, "its JobSet to go")
    assert "TrainJobFailed" in world.told(stream)


def test_it_is_suspended_and_resumed_and_nothing_is_made_for_it() -> None:
    world, stream = a_held_job()
    world.cluster.delete(CONFIGMAPS, "ml", "train-runtime-snapshot")
    before = len(world.cluster.writes)
    world.change(suspend=True)
    world.run(world.is_so("Suspended"), "the suspension to be shown")
    world.run(lambda: child(world.jobset, "spec")["suspend"] is True, "the JobSet")
    world.change(suspend=False)
    world.run(world.is_so("Suspended", "False"), "the resume to be shown")
    world.run(lambda: child(world.jobset, "spec")["suspend"] is False, "the JobSet")
    made = [item for item in world.cluster.writes[before:] if item[0] in ("create", "apply")]
    assert [item for item in made if item[1] in ("jobsets", "configmaps")] == []
    assert world.snapshot == ""
    assert world.told(stream).count("TrainAttemptStarted") == 2


def test_its_end_is_shown_and_written_down() -> None:
    world, stream = a_held_job()
    world.jobsets.holds = False
    world.run(world.is_so("Complete"), "the end")
    world.cluster.merge_patch(TRAINJOBS, "ml", "train", {"metadata": {"finalizers": []}})
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert world.told(stream)[-1] == "TrainJobDeleted"


def test_a_job_that_cannot_be_built_any_more_is_suspended_all_the_same() -> None:
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    world.train()
    world.run(world.is_so("Created"), "the objects")
    world.cluster.edit(CONFIGMAPS, "ml", "train-runtime-snapshot", data={"runtime": "{}"})
    world.change(suspend=True)
    world.run(world.is_so("Created", "False"), "the failed build")
    world.run(lambda: child(world.jobset, "spec")["suspend"] is True, "the JobSet")
    assert world.condition("Created") == ("False", "JobsBuildFailed")
    assert world.condition("Suspended")[0] == "True"
    assert world.cluster.get(JOBSETS, "ml", "train") is not None
