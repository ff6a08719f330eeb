"""TrainJobs by the whole service in memory: what is made, what is shown, and deaths anywhere."""

from collections import Counter
from typing import Any

import pytest

from jobledger.core.errors import (
    ClusterUnreachable,
    ObjectChanged,
    RequestForbidden,
    RequestInvalid,
)
from jobledger.core.ports.cluster import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIGMAPS,
    JOBSETS,
    KUBERNETES_EVENTS,
    TRAINJOBS,
    Resource,
)
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.chosen_steps import Kind, chosen
from tests.adapters.service.stories import is_let_go
from tests.adapters.service.train_lives import TRAIN_LIVES, Story
from tests.support.crash_points import MODES, Fuse, Mode
from tests.support.effectful_steps import knowing_effects
from tests.support.life_ends import assert_ledger_whole
from tests.support.train_world import TrainWorld, torch_runtime

SECRET = "xK9-planted-runtime-secret"


def made(world: TrainWorld, verb: str, plural: str) -> int:
    return sum(item[:2] == (verb, plural) for item in world.cluster.writes)


def test_a_job_trains_and_completes() -> None:
    world = TrainWorld()
    world.install_runtime()
    stream = world.train()
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert world.jobsets.shown == [["Created=True"], ["Created=True", "Complete=True"]]
    assert child(world.trainjob, "status")["jobsStatus"] == [
        {"name": "node", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0}
    ]
    assert (made(world, "create", "jobsets"), made(world, "apply", "jobsets")) == (1, 0)
    assert made(world, "create", "configmaps") == 1
    assert_ledger_whole(world, stream)


def test_the_objects_carry_nothing_of_ours() -> None:
    world = TrainWorld()
    world.install_runtime()
    world.train()
    world.run(world.is_so("Created"), "the objects")
    for resource, name in ((JOBSETS, "train"), (CONFIGMAPS, "train-runtime-snapshot")):
        metadata = child(world.cluster.get(resource, "ml", name), "metadata")
        assert "labels" not in metadata
        assert "annotations" not in metadata
        (owner,) = items(metadata, "ownerReferences")
        assert text(owner, "uid") == text(world.trainjob, "metadata", "uid")
    assert set(child(world.trainjob, "metadata")) & {"labels", "annotations", "finalizers"} == set()


def test_a_runtime_that_comes_later_is_noticed_at_once() -> None:
    world = TrainWorld()
    stream = world.train()
    world.run(world.is_so("Created", "False"), "the failed build")
    assert world.condition("Created") == ("False", "JobsBuildFailed")
    begun = world.clock.now()
    world.install_runtime()
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert (world.clock.now() - begun).total_seconds() < 10, "before its pause had passed"


def test_a_runtime_that_is_there_is_not_missed_because_its_watch_lags() -> None:
    """Runtime and job are made at once; each kind has a watch of its own, in no order."""
    world = TrainWorld()
    world.run(world.service.controller.knows_all, "the watches")
    world.cluster.lagging.add(CLUSTER_TRAINING_RUNTIMES)
    world.install_runtime()
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    world.cluster.lagging.clear()
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert world.jobsets.shown == [["Created=True"], ["Created=True", "Complete=True"]]
    stored = repr([item.record.data for item in world.store.read_stream(stream)])
    assert SECRET not in stored


def test_until_it_was_created_once_a_changed_runtime_is_snapshotted_anew() -> None:
    world = TrainWorld()
    world.install_runtime()
    world.train(trainer={"env": [{"name": "PET_NNODES", "value": "9"}]})
    world.run(world.is_so("Created", "False"), "the failed build")
    assert "busybox" in world.snapshot
    changed = torch_runtime()
    changed["spec"]["mlPolicy"] = {"numNodes": 3}
    world.install_runtime(changed)
    world.run(world.is_so("Complete"), "the end")
    assert "numNodes: 3" in world.snapshot


def test_afterwards_the_snapshot_counts_also_across_a_suspension() -> None:
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    world.train(suspend=True)
    world.run(world.is_so("Suspended"), "the suspension")
    changed = torch_runtime()
    changed["spec"]["mlPolicy"]["numNodes"] = 5
    world.install_runtime(changed)
    world.change(suspend=False)
    world.run(world.is_so("Suspended", "False"), "the resume")
    job = child(items(world.jobset, "spec", "replicatedJobs")[0], "template", "spec")
    assert (job["parallelism"], child(world.jobset, "spec")["suspend"]) == (2, False)
    assert "numNodes: 2" in world.snapshot


def test_a_snapshot_that_is_deleted_asks_for_the_runtime_of_now() -> None:
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    world.train()
    world.run(world.is_so("Created"), "the objects")
    changed = torch_runtime()
    changed["spec"]["mlPolicy"]["numNodes"] = 5
    world.install_runtime(changed)
    world.cluster.delete(CONFIGMAPS, "ml", "train-runtime-snapshot")
    world.run(lambda: "numNodes: 5" in world.snapshot, "another snapshot")
    assert made(world, "apply", "jobsets") == 0, "a running JobSet is never touched"


def test_a_snapshot_of_somebody_else_is_a_failed_build_until_it_is_deleted() -> None:
    world = TrainWorld()
    world.install_runtime()
    name = {"namespace": "ml", "name": "train-runtime-snapshot"}
    world.cluster.plant(CONFIGMAPS, {"metadata": name, "data": {"runtime": "{}"}})
    stream = world.train()
    world.run(world.is_so("Created", "False"), "the failed build")
    (shown,) = items(world.trainjob, "status", "conditions")
    assert text(shown, "message") == (
        "Failed to build Jobs: invalid runtime snapshot: it is not controlled by this TrainJob: "
        "ConfigMap ml/train-runtime-snapshot is in the way: nobody owns it. Delete it if nobody "
        "needs it (kubectl delete configmap train-runtime-snapshot -n ml), or give this TrainJob "
        "another name; this TrainJob goes on by itself once the name is free"
    )
    world.cluster.delete(CONFIGMAPS, "ml", "train-runtime-snapshot")
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert world.condition("Complete")[0] == "True"


def test_a_job_that_is_made_anew_waits_a_moment_for_the_garbage_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As by `kubectl replace --force`: nobody is told that it failed, or what to delete."""
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    world.train()
    world.run(world.is_so("Created"), "the objects of the first")
    with monkeypatch.context() as patched:
        patched.setattr(world.cluster, "collect", lambda: None)
        world.cluster.delete(TRAINJOBS, "ml", "train")
        world.train()
        since = world.clock.monotonic()
        for _ in range(20):
            world.step()
    assert (world.snapshot != "", world.trainjob.get("status")) == (True, None)
    world.run(world.is_so("Created"), "the objects of the second")
    assert world.clock.monotonic() - since < 5
    assert ["Created=False"] not in world.jobsets.shown


@pytest.mark.parametrize(
    "error", [ClusterUnreachable("500: a webhook fails"), ObjectChanged("409")]
)
def test_what_runs_is_suspended_though_the_objects_beside_it_cannot_be_put(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """However often what may pass in a moment does not: a webhook that is away lasts for hours."""
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    world.train()
    world.run(world.is_so("Created"), "the objects")
    world.cluster.delete(CONFIGMAPS, "ml", "train-runtime-snapshot")
    apply = world.cluster.apply

    def refused(resource: Resource, manifest: Manifest, **more: Any) -> Manifest:  # noqa: ANN401 as the port
        if resource == CONFIGMAPS:
            raise error
        return apply(resource, manifest, **more)

    monkeypatch.setattr(world.cluster, "apply", refused)
    world.change(suspend=True)
    world.run(lambda: child(world.jobset, "spec").get("suspend") is True, "what runs is suspended")


def refusing(world: TrainWorld, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let the API server refuse JobSets."""
    apply = world.cluster.apply

    def refused(resource: Resource, manifest: Manifest, **more: str) -> Manifest:
        if resource == JOBSETS:
            raise error
        return apply(
            resource, manifest, field_manager="trainer", subresource=more.get("subresource", "")
        )

    monkeypatch.setattr(world.cluster, "apply", refused)


def test_a_refused_object_says_why_without_secrets_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = TrainWorld()
    world.install_runtime()
    with monkeypatch.context() as patched:
        refusing(world, patched, RequestForbidden(f"exceeded quota: {SECRET}"))
        stream = world.train()
        world.run(world.is_so("Created", "False"), "the failed creation")
    assert world.condition("Created") == ("False", "JobsCreationFailed")
    message = text(items(world.trainjob, "status", "conditions")[0], "message")
    assert message.startswith("Failed to create Jobs: JobSet ml/train: exceeded quota: redacted:")
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert world.told(stream).count("JobsCreationFailed") == 1
    stored = repr([item.record.data for item in world.store.read_stream(stream)])
    assert SECRET not in stored


def test_what_is_refused_as_a_conflict_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """An admission webhook may answer so too; nobody changes the object then."""
    world = TrainWorld()
    world.install_runtime()
    refusing(world, monkeypatch, ObjectChanged(f"denied the request: one job each, {SECRET}"))
    stream = world.train()
    world.run(world.is_so("Created", "False"), "the failed creation")
    message = text(items(world.trainjob, "status", "conditions")[0], "message")
    assert "denied the request: one job each, redacted:" in message
    assert SECRET not in repr([item.record.data for item in world.store.read_stream(stream)])


def test_an_object_that_is_no_good_is_tried_again_with_pauses_and_at_once_after_a_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = TrainWorld()
    world.install_runtime()
    with monkeypatch.context() as patched:
        refusing(world, patched, RequestInvalid("field is immutable"))
        stream = world.train()
        world.run(world.is_so("Created", "False"), "the failed creation")
        before = world.told(stream).count("JobsCreationFailed")
        world.clock.advance(300)
        world.run(
            lambda: world.told(stream).count("JobsCreationFailed") > before, "another refusal"
        )
    world.change(trainer={"command": ["other"]})
    world.run(lambda: is_let_go(world, stream), "the job to be over")


def test_runtime_patches_that_are_withheld_are_told_in_a_kubernetes_event() -> None:
    world = TrainWorld()
    world.install_runtime()
    world.jobsets.holds = True
    world.train()
    world.run(world.is_so("Created"), "the objects")
    spec = child(world.cluster.get(JOBSETS, "ml", "train"), "spec")
    patch: Manifest = {"manager": "tests.jobledger.dev/queue", "trainingRuntimeSpec": {}}
    world.change(runtimePatches=[patch])

    def told() -> list[Manifest]:
        sent = world.cluster.list(KUBERNETES_EVENTS).items
        return [item for item in sent if text(item, "reason") == "RuntimePatchesWithheld"]

    world.run(lambda: bool(told()), "the Kubernetes Event")
    (event,) = told()
    assert (text(event, "type"), text(event, "regarding", "name")) == ("Warning", "train")
    assert "until the TrainJob is suspended" in text(event, "note")
    now = child(world.cluster.get(JOBSETS, "ml", "train"), "spec")
    assert now == spec, "what runs goes on as it is"


def test_a_deadline_deletes_the_jobset() -> None:
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train(activeDeadlineSeconds=60)
    world.run(world.is_so("Failed"), "the deadline")
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert world.condition("Failed") == ("True", "DeadlineExceeded")
    assert world.jobset == {}


def test_before_the_deadline_is_judged_the_jobset_is_looked_at() -> None:
    """It completed while no watch told of it."""
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train(activeDeadlineSeconds=60)
    world.run(world.is_so("Created"), "the objects")
    deliver = world.cluster.deliver
    world.cluster.deliver = lambda: False  # type: ignore[method-assign] # the watch lags
    world.jobsets.holds = False
    world.run(lambda: _ended(world, stream), "the end")
    world.cluster.deliver = deliver  # type: ignore[method-assign]
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert world.condition("Complete")[0] == "True"
    assert "DecisionFired" not in world.told(stream)


def test_after_a_death_a_finished_job_shows_that_it_is_suspended_no_more() -> None:
    """Suspended follows the specification after the end as well; no generation is shown."""
    world = TrainWorld()
    world.install_runtime()
    stream = world.train()
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    world.change(suspend=True)
    while "TrainJobSuspended" not in world.told(stream):
        world.cluster.deliver()
        world.service.controller.run_once(wait_seconds=0)  # it decides, and dies before it tells
    assert world.condition("Suspended") == ("", "")
    world.restart()
    world.run(world.is_so("Suspended"), "the suspension to be shown")
    assert world.condition("Complete")[0] == "True"


def _ended(world: TrainWorld, stream: StreamId) -> bool:
    return "TrainJobCompleted" in world.told(stream)


def test_a_job_that_vanished_while_nobody_watched_is_noticed() -> None:
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    world.cluster.disconnect()
    world.cluster.delete(TRAINJOBS, "ml", "train")
    world.service = world.start_service("a")
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert world.told(stream)[-1] == "TrainJobDeleted"


@pytest.mark.faults
@pytest.mark.parametrize(
    ("name", "mode"),
    [
        *((name, mode) for name in TRAIN_LIVES for mode in MODES if mode != "die after"),
        ("suspension", "die after"),
    ],
)
def test_whatever_breaks_the_end_is_the_same(name: str, mode: Mode) -> None:
    story = TRAIN_LIVES[name]
    whole, stream = story()
    ends = whole.condition("Complete"), whole.condition("Failed"), bool(whole.jobset)
    attempts = whole.told(stream).count("TrainAttemptStarted")
    for at in chosen(_kinds(story)):
        world, stream = story(Fuse(at=at, mode=mode, steps_only=True))
        found = world.condition("Complete"), world.condition("Failed"), bool(world.jobset)
        assert found == ends, f"{mode} at {at}: {world.fuse.blown}"
        told = world.told(stream)
        assert told.count("TrainAttemptStarted") == attempts, f"{mode} at {at}"
        created = Counter(item for item in world.cluster.writes if item[0] == "create")
        assert created["create", "jobsets", "train"] == 1, f"{mode} at {at}"
        assert_ledger_whole(world, stream)


def _kinds(story: Story) -> list[Kind]:
    fuse = Fuse(steps_only=True)
    with knowing_effects():
        story(fuse)
    return fuse.kinds
