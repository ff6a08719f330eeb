"""What the log knows and no watch shows is asked for; what a watch shows costs no question."""

from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.service import controller
from jobledger.adapters.service.work.slots import Slot
from jobledger.core.errors import ClusterUnreachable, ObjectExists
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS, Resource
from jobledger.core.rayjob.names import ATTEMPT_ANNOTATION, FINALIZER
from jobledger.core.rayjob.observations.observations import ClusterGone, ClusterSeen
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import Bench, a_rayjob
from tests.adapters.service.stories import HTTP
from tests.adapters.service.test_acts import ADDRESS, do, make
from tests.support.service_world import ServiceWorld


def running(**spec: object) -> tuple[ServiceWorld, StreamId]:
    """Return a world with a job that runs until it is let end."""
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob(submissionMode=HTTP, **spec))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    return world, stream


def count_questions(world: ServiceWorld, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the plurals of what is asked for from now on."""
    asked: list[str] = []
    get: Callable[..., Any] = world.cluster.get

    def counted(resource: Resource, *place: str) -> Manifest | None:
        asked.append(resource.plural)
        found: Manifest | None = get(resource, *place)
        return found

    monkeypatch.setattr(world.cluster, "get", counted)
    return asked


def of_watched(asked: list[str]) -> list[str]:
    """Return what was asked for although it is watched."""
    return [one for one in asked if one != "services"]


def work(world: ServiceWorld) -> None:
    """Let what was asked for be done and decided about."""
    for _ in range(10):
        world.service.step()


def told(world: ServiceWorld, stream: StreamId) -> list[str]:
    return [item.record.type for item in world.store.read_stream(stream)]


def test_in_the_steady_state_only_what_nobody_watches_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, _ = running()
    asked = count_questions(world, monkeypatch)
    for _ in range(5):
        world.service.controller.look_around()
        work(world)
    assert asked == ["services"] * 5


def test_a_raycluster_that_went_unseen_is_asked_for_and_told_as_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was made and went within a gap of the watch: no list tells of it either."""
    world, stream = running()
    name = text(child(world.job("train"), "status"), "rayClusterName")
    (shown,) = world.cluster.peek(RAYCLUSTERS)
    world.service.live.drop_child("RayCluster", text(shown, "metadata", "uid"))
    with world.cluster.unheard():
        world.cluster.delete(RAYCLUSTERS, "ml", name)
    asked = count_questions(world, monkeypatch)
    world.service.controller.look_around()
    work(world)
    assert of_watched(asked) == ["rayclusters"]
    assert told(world, stream).count("ClusterVanished") == 1
    world.service.controller.look_around()
    work(world)
    assert of_watched(asked) == ["rayclusters"], "once is enough"


def test_what_only_the_watch_has_lost_is_not_told_as_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    world, stream = running()
    (shown,) = world.cluster.peek(RAYCLUSTERS)
    world.service.live.drop_child("RayCluster", text(shown, "metadata", "uid"))
    asked = count_questions(world, monkeypatch)
    world.service.controller.look_around()
    work(world)
    assert of_watched(asked) == ["rayclusters"]
    assert "ClusterVanished" not in told(world, stream)


def test_before_the_gates_are_open_nobody_looks_around() -> None:
    world = ServiceWorld()
    world.service.controller.look_around()
    assert len(world.service.workers) == 0


def test_a_job_that_breaks_as_it_is_looked_for_hides_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, stream = running()
    alike = world.create(a_rayjob({"metadata.name": "alike"}, submissionMode=HTTP))
    other = world.create(a_rayjob({"metadata.name": "other"}, submissionMode=HTTP))
    world.run(lambda: world.phase("alike") == "Running", "the second job to run")
    world.run(lambda: world.phase("other") == "Running", "the other job to run")
    sought: list[StreamId] = []

    def seek(lookout: object, slots: object, slot: Slot) -> None:
        del lookout, slots
        if slot.stream_id in (stream, alike):
            raise RecursionError
        sought.append(slot.stream_id)

    monkeypatch.setattr(controller, "seek", seek)
    with capture_logs() as lines:
        world.service.controller.look_around()
    assert sought == [other]
    named = [line["job"] for line in lines if line["event"] == "job_not_looked_at"]
    assert named == ["ml/train"], "the first of those that break alike"


def test_a_raycluster_that_took_the_place_of_one_that_was_lost_is_found_and_goes() -> None:
    """Put back as from a backup while nobody watched: the entrypoint ran on the first."""
    world, stream = running(shutdownAfterJobFinishes=True)
    world.cluster.disconnect()
    (lost,) = world.cluster.peek(RAYCLUSTERS)
    metadata = {k: v for k, v in child(lost, "metadata").items() if k != "resourceVersion"}
    again = {**lost, "metadata": metadata}
    world.cluster.delete(RAYCLUSTERS, "ml", text(lost, "metadata", "name"))
    world.cluster.create(RAYCLUSTERS, again)
    world.service = world.start_service()
    world.run(lambda: world.phase("train") == "Failed", "the loss to be noticed")
    world.run(lambda: not world.cluster.peek(RAYCLUSTERS), "the other to be gone")
    assert {"ClusterVanished", "OrphanClusterFound", "OrphanClusterVanished"} <= set(
        told(world, stream)
    )


def test_another_child_of_the_same_name_says_that_the_first_is_gone() -> None:
    """A name is free only then; a watch that lost the event tells the second all the same."""
    bench = Bench()
    job = bench.job()
    first = make(bench, RAYCLUSTERS, "train-x2x2x", owner=job.identity.uid)
    bench.clusters.seen(first, bench.clock.now())
    bench.said()
    bench.cluster.delete(RAYCLUSTERS, "ml", "train-x2x2x")
    second = make(bench, RAYCLUSTERS, "train-x2x2x", owner=job.identity.uid)
    bench.clusters.seen(second, bench.clock.now())
    gone, seen = bench.said()
    assert isinstance(gone, ClusterGone)
    assert isinstance(seen, ClusterSeen)
    assert gone.uid == text(first, "metadata", "uid")
    assert seen.uid == text(second, "metadata", "uid")
    bench.clusters.seen(first, bench.clock.now())
    late = bench.said()
    assert not any(isinstance(item, ClusterGone) for item in late), "that one is older"


def test_the_finalizer_comes_off_though_the_watch_does_not_show_it_yet() -> None:
    """Else an object that was deleted right after it got its finalizer would stay for ever."""
    bench = Bench()
    job = bench.job()
    bench.cluster.merge_patch(RAYJOBS, "ml", "train", {"metadata": {"finalizers": [FINALIZER]}})
    done = do(bench, job, bench.effect(job, EffectKind.REMOVE_FINALIZER, "rayjob"))
    assert not done.already
    assert items(bench.cluster.get(RAYJOBS, "ml", "train"), "metadata", "finalizers") == ()


def test_where_the_watch_shows_the_finalizer_it_comes_off_with_one_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    job = bench.job({"metadata.finalizers": [FINALIZER]})

    def unasked(*args: object) -> None:
        raise ClusterUnreachable(str(args))

    with monkeypatch.context() as watching:
        watching.setattr(bench.cluster, "get", unasked)
        do(bench, job, bench.effect(job, EffectKind.REMOVE_FINALIZER, "rayjob"))
    assert items(bench.cluster.get(RAYJOBS, "ml", "train"), "metadata", "finalizers") == ()


def test_a_submitter_of_another_attempt_is_not_taken_for_the_present_one() -> None:
    """It has the name that all have, and runs what is over."""
    bench = Bench()
    job = bench.job()
    annotations = {ATTEMPT_ANNOTATION: "7"}
    make(bench, BATCH_JOBS, "train", owner=job.identity.uid, annotations=annotations)
    effect = bench.effect(job, EffectKind.CREATE_SUBMITTER, "train", address=ADDRESS)
    with pytest.raises(ObjectExists):
        do(bench, job, effect)
