"""An etcd that is restored shows jobs as they were before: they go on from there, both kinds.

The log knows a later generation, and a JobSet in a later version, than the cluster will show for a
long time. Nothing of it is taken for an old look for ever, and nothing is done twice.
"""

from collections.abc import Callable
from typing import TypeVar

import pytest
from structlog.testing import capture_logs

from jobledger.core.forensics.replay.replay import replay
from jobledger.core.ports.cluster import JOBSETS, RAYJOBS, TRAINJOBS
from jobledger.core.rayjob.names import FINALIZER
from jobledger.core.values.documents import items, number
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP
from tests.support.etcd_backup import EtcdBackup, list_anew
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld

World = TypeVar("World", bound=ServiceWorld)
how = pytest.mark.parametrize("anew", [False, True], ids=["running service", "started anew"])


def settle(world: ServiceWorld) -> None:
    world.run(lambda: True, "rest")
    world.service.controller.look_around()
    world.run(lambda: True, "rest")


def lose(world: World, change: Callable[[World], None], *, anew: bool) -> None:
    """Make a backup, then the change, and restore the backup under the service, or between two."""
    backup = EtcdBackup(world.cluster)
    change(world)
    settle(world)
    if anew:
        world.cluster.disconnect()
        backup.restore()
        world.service = world.start_service()
    else:
        lost = backup.restore()
        list_anew(world.cluster, world.clock.now(), lost)
    settle(world)


def known_generation(world: ServiceWorld, stream: StreamId) -> int:
    slot = world.service.slots.held(stream)
    assert slot is not None
    assert slot.view.state.manifest is not None
    return slot.view.state.manifest.generation


def told(world: ServiceWorld, stream: StreamId) -> list[str]:
    return [item.record.type for item in world.store.read_stream(stream)]


def replayed(world: ServiceWorld, stream: StreamId) -> tuple[object, object]:
    """Return what a replay of the job's log decides otherwise, and what it cannot explain."""
    found = replay(item.record for item in world.store.read_stream(stream))
    return found.divergences, found.unknown


def a_running_rayjob() -> tuple[ServiceWorld, StreamId]:
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob(submissionMode=HTTP, shutdownAfterJobFinishes=True))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    return world, stream


def edit_rayjob(world: ServiceWorld) -> None:
    for limit in (7, 8, 9):
        spec = {**world.job("train")["spec"], "backoffLimit": limit}  # type: ignore[dict-item]
        world.cluster.edit(RAYJOBS, "ml", "train", spec=spec)


def a_running_trainjob() -> tuple[TrainWorld, StreamId]:
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    return world, stream


def edit_trainjob(world: TrainWorld) -> None:
    for seconds in (7000, 8000, 9000):
        world.change(activeDeadlineSeconds=seconds)


@how
def test_a_rayjob_goes_on_from_there(*, anew: bool) -> None:
    world, stream = a_running_rayjob()
    before = known_generation(world, stream)
    lose(world, edit_rayjob, anew=anew)
    assert known_generation(world, stream) == before
    assert told(world, stream).count("AttemptStarted") == 1
    settled = len(told(world, stream))
    settle(world)
    assert len(told(world, stream)) == settled, "it is taken once"
    spec = {**world.job("train")["spec"], "suspend": True}  # type: ignore[dict-item]
    world.cluster.edit(RAYJOBS, "ml", "train", spec=spec)
    world.run(lambda: world.phase("train") == "Suspended", "the next edit to be heard")
    assert replayed(world, stream) == ((), ())


@how
def test_a_rayjob_that_is_deleted_there_goes(*, anew: bool) -> None:
    """Its finalizer comes off, though the deletion has a lower generation than the log knows."""
    world, stream = a_running_rayjob()
    lose(world, edit_rayjob, anew=anew)
    world.cluster.delete(RAYJOBS, "ml", "train")
    world.run(lambda: world.job("train") == {}, "the object to go")
    assert told(world, stream)[-1] == "JobDeleted"


def test_a_rayjob_that_is_deleted_after_its_end_goes() -> None:
    """Nobody looks around for one that has ended: the deletion speaks for itself."""
    world, _ = a_running_rayjob()
    backup = EtcdBackup(world.cluster)
    edit_rayjob(world)
    settle(world)
    world.plane.holds = False
    world.run(lambda: world.phase("train") == "Complete", "the end")
    world.cluster.disconnect()
    backup.restore()
    world.service = world.start_service()
    settle(world)
    assert world.phase("train") == "Complete", "what has ended stays ended"
    world.cluster.delete(RAYJOBS, "ml", "train")
    world.run(lambda: world.job("train") == {}, "the object to go")


@how
@pytest.mark.parametrize("goes", [False, True], ids=["deleted later", "on its way out"])
def test_a_rayjob_that_was_gone_and_is_back_may_go(*, goes: bool, anew: bool) -> None:
    """It is left alone until then; its finalizer would keep it, and its namespace, for ever."""
    world, stream = a_running_rayjob()
    kept = [FINALIZER, "example.com/slow"]
    world.cluster.merge_patch(RAYJOBS, "ml", "train", {"metadata": {"finalizers": kept}})
    if goes:
        world.cluster.delete(RAYJOBS, "ml", "train")

    def go(world: ServiceWorld) -> None:
        if not goes:
            world.cluster.delete(RAYJOBS, "ml", "train")
        settle(world)
        world.cluster.merge_patch(RAYJOBS, "ml", "train", {"metadata": {"finalizers": []}})

    with capture_logs() as lines:
        lose(world, go, anew=anew)
    if not goes:
        assert told(world, stream)[-1] == "JobDeleted"
        assert "job_came_back" in [line["event"] for line in lines]
        assert world.job("train") != {}, "it is back, and left alone"
        world.cluster.delete(RAYJOBS, "ml", "train")
    world.run(
        lambda: FINALIZER not in items(world.job("train"), "metadata", "finalizers"),
        "it to be let go",
    )
    assert replayed(world, stream) == ((), ())


@how
def test_a_trainjob_goes_on_from_there(*, anew: bool) -> None:
    world, stream = a_running_trainjob()
    before = known_generation(world, stream)
    lose(world, edit_trainjob, anew=anew)
    assert known_generation(world, stream) == before
    assert world.told(stream).count("TrainAttemptStarted") == 1
    settled = len(world.told(stream))
    settle(world)
    assert len(world.told(stream)) == settled, "it is taken once"
    world.change(suspend=True)
    world.run(world.is_so("Suspended"), "the next edit to be heard")
    assert replayed(world, stream) == ((), ())


@how
def test_a_jobset_that_went_back_is_heard_when_it_ends(*, anew: bool) -> None:
    world, stream = a_running_trainjob()

    def restarted(world: TrainWorld) -> None:
        (jobset,) = world.cluster.peek(JOBSETS)
        status = {**jobset["status"], "restarts": 1}  # type: ignore[dict-item]
        world.cluster.edit(JOBSETS, "ml", "train", status=status)

    lose(world, restarted, anew=anew)
    world.jobsets.holds = False
    world.run(world.is_so("Complete"), "its end to be heard")
    assert replayed(world, stream) == ((), ())


def test_an_old_look_of_a_watch_that_lags_is_none() -> None:
    """The watch shows an earlier form; the API server, when it is asked, the one that is known."""
    world, stream = a_running_trainjob()
    edit_trainjob(world)
    settle(world)
    known = known_generation(world, stream)
    listed = world.cluster.list(TRAINJOBS).items[0]
    with_metadata = {**listed["metadata"], "generation": known - 2}  # type: ignore[dict-item]
    live = world.service.live
    job = live.job(str(listed["metadata"]["uid"]))  # type: ignore[index, call-overload]
    assert job is not None
    assert number(with_metadata, "generation") == known - 2
    live.doubt("TrainJob", "", jobs=True)
    lagging = {**listed, "metadata": {**with_metadata, "resourceVersion": "2"}}
    watcher = next(
        one
        for one in world.cluster._watchers  # noqa: SLF001 a test's own way behind the API
        if one.mailbox.resource == TRAINJOBS  # type: ignore[attr-defined]
    )
    watcher.mailbox._listener.seen(lagging, world.clock.now())  # type: ignore[attr-defined] # noqa: SLF001
    settle(world)
    assert known_generation(world, stream) == known
