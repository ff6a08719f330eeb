"""Stories of a RayJob for the whole service in memory, and what must hold at their end."""

from collections import Counter

from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS
from jobledger.core.values.documents import child, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.support.crash_points import Fuse
from tests.support.life_ends import assert_ledger_whole, differing, folded_status
from tests.support.service_world import ServiceWorld

K8S, HTTP = "K8sJobMode", "HTTPMode"


def retry_story(
    mode: str, fuse: Fuse | None = None, fails: int = 1
) -> tuple[ServiceWorld, StreamId]:
    """Fail, succeed with the next attempt, shut the RayCluster down.

    It fails once by default: each retry takes the same steps again, and who goes through a life
    once for each of its steps pays for each twice. `same_cluster_story` fails twice.
    """
    world = ServiceWorld(fuse=fuse or Fuse(), exit_codes=[1] * fails + [0])
    manifest = a_rayjob(
        submissionMode=mode,
        backoffLimit=2,
        shutdownAfterJobFinishes=True,
        ttlSecondsAfterFinished=2,
    )
    stream = world.create(manifest)
    world.run(lambda: is_over(world, stream), "the job to be over and cleaned up")
    return world, stream


def deletion_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Run, and be deleted by the user in the middle of it."""
    world = ServiceWorld(fuse=fuse or Fuse())
    world.plane.holds = True
    stream = world.create(a_rayjob(submissionMode=mode))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    world.cluster.delete(RAYJOBS, "ml", "train")
    world.run(lambda: not world.job("train") and is_let_go(world, stream), "the job to be gone")
    return world, stream


def suspension_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Run, be suspended, be resumed, and succeed."""
    world = ServiceWorld(fuse=fuse or Fuse())
    world.plane.holds = True
    manifest = a_rayjob(submissionMode=mode, shutdownAfterJobFinishes=True)
    stream = world.create(manifest)
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    world.cluster.edit(RAYJOBS, "ml", "train", spec={**manifest["spec"], "suspend": True})
    world.run(lambda: world.phase("train") == "Suspended", "the job to be suspended")
    world.plane.holds = False
    world.cluster.edit(RAYJOBS, "ml", "train", spec=manifest["spec"])
    world.run(lambda: is_over(world, stream), "the job to be over and cleaned up")
    return world, stream


def is_over(world: ServiceWorld, stream: StreamId) -> bool:
    """Return whether users see the end, and nothing of the job is left to do."""
    ended = world.phase("train") in ("Complete", "Failed")
    return ended and not world.cluster.peek(RAYCLUSTERS) and is_let_go(world, stream)


def is_let_go(world: ServiceWorld, stream: StreamId) -> bool:
    """Return whether the service has let go of the job, and nothing is left to be written.

    One that has just been started has not looked yet whether anything is.
    """
    known = bool(world.store.read_stream(stream))
    writing = world.service.handover.publisher.streams()
    controller = world.service.controller
    looked = controller.knows_all() and not controller.takeover.is_under_way
    return known and looked and world.service.slots.held(stream) is None and not writing


def assert_whole(world: ServiceWorld, stream: StreamId) -> None:
    """Assert that nothing was doubled, lost or leaked, and that all tables follow from the log."""
    assert_ledger_whole(world, stream)
    made = Counter(item for item in world.cluster.writes if item[:2] == ("create", "rayclusters"))
    assert set(made.values()) <= {1}, f"a RayCluster was created twice: {made}"
    assert world.cluster.list(RAYCLUSTERS).items == []
    if not world.job("train"):
        assert world.cluster.list(BATCH_JOBS).items == []
        return
    shown = child(world.job("train"), "status")
    assert differing(shown, folded_status(world, stream)) == {}


def created(world: ServiceWorld, plural: str) -> int:
    """Return how many objects of a kind were created."""
    return sum(verb == "create" and where == plural for verb, where, _ in world.cluster.writes)


def phases_shown(world: ServiceWorld) -> list[str]:
    """Return the phases that users could see one after the other."""
    shown = [text(item, "jobDeploymentStatus") for item in world.cluster.statuses]
    return [phase for phase, before in zip(shown, ["", *shown], strict=False) if phase != before]
