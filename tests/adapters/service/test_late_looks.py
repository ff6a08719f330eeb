"""What is asked for besides being watched, and answered after the watch has told that it went."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jobledger.adapters.kinds.rayjob.watching.listeners import ChildListener
from jobledger.adapters.kinds.trainjob.watching.listeners import DependentListener
from jobledger.adapters.service.objects.kept_children import GONE_MAX
from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.resync.control_release import StatusLook
from jobledger.adapters.service.resync.lookout import ChildLook, FreshLook, Lookout
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import JOBSETS, RAYJOBS, Resource
from jobledger.core.values.documents import Json, Manifest, text
from tests.adapters.service.parts import Bench, a_rayjob
from tests.support.records import NOON
from tests.support.train_world import TrainWorld


@dataclass
class SlowAnswers:
    """An API server whose answers to looks leave before something happens, and arrive after it."""

    cluster: Any
    meanwhile: Callable[[], None]

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        """Return the object as it was."""
        found: Manifest | None = self.cluster.get(resource, namespace, name)
        self.meanwhile()
        return found


def lookout(cluster: Any, around: EventHandlers, clock: Clock) -> Lookout:  # noqa: ANN401  # slow
    """Return who looks; that there was no answer is told to nobody: there is one each time."""
    nobody: Any = None
    return Lookout(cluster, around, clock, nobody, {}, {}, nobody)


def test_a_jobset_that_went_while_it_was_looked_at_is_made_anew() -> None:
    world = TrainWorld()
    world.install_runtime()
    world.jobsets.holds = True
    stream = world.train()
    world.run(lambda: world.service.live.child_named("JobSet", "ml", "train") is not None, "one")
    first = world.cluster.get(JOBSETS, "ml", "train")

    def goes() -> None:
        world.cluster.delete(JOBSETS, "ml", "train")
        world.cluster.deliver()
        assert world.service.live.child_named("JobSet", "ml", "train") is None

    slot = world.service.slots.held(stream)
    assert slot is not None
    identity = slot.view.state.identity
    assert identity is not None
    around = world.service.controller._parts.handlers  # noqa: SLF001 what its looks have
    slow: Any = SlowAnswers(world.cluster, goes)
    look = FreshLook(about="a decision", is_pending=lambda: True, then=lambda: None)
    tell = DependentListener(around, JOBSETS.kind).seen
    assert ChildLook(lookout(slow, around, world.clock), JOBSETS, identity, tell, look)()
    assert world.service.live.child_named("JobSet", "ml", "train") is None
    world.run(lambda: world.cluster.get(JOBSETS, "ml", "train") not in (None, first), "another")
    world.cluster.deliver()
    known = world.service.live.child_named("JobSet", "ml", "train")
    assert known is not None, "one of another UID is kept"


def test_a_job_that_went_while_it_was_looked_at_is_not_there() -> None:
    bench = Bench()
    job = bench.job()

    def goes() -> None:
        bench.cluster.delete(RAYJOBS, "ml", "train")
        bench.jobs.gone({"metadata": {"uid": job.identity.uid}}, NOON)

    slow: Any = SlowAnswers(bench.cluster, goes)
    assert StatusLook(lookout(slow, bench.around, bench.clock), job)() is None
    assert bench.live.jobs() == []
    anew = bench.see(bench.cluster.create(RAYJOBS, a_rayjob()))
    assert bench.live.jobs() == [anew], "one of another UID is kept"


def test_a_pod_that_loses_the_label_by_which_it_is_watched_may_come_back() -> None:
    """A watch by labels tells that it went, though it is there."""
    bench = Bench()
    heads = ChildListener(bench.around, "Pod")
    owner: Json = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "uid": "uid-of-cluster",
        "controller": True,
    }
    pod: Manifest = {
        "metadata": {
            "uid": "uid-of-head",
            "name": "head",
            "namespace": "ml",
            "resourceVersion": "5",
            "ownerReferences": [owner],
        }
    }
    heads.seen(pod, NOON)
    heads.gone(pod, NOON)
    heads.seen(pod, NOON)
    assert bench.live.has_child("Pod", "uid-of-head")


def test_a_job_that_went_may_be_back_where_everything_is_listed_anew() -> None:
    """As after a restore of etcd; one of another kind is not asked about."""
    bench = Bench()
    job = bench.job()
    live = ObjectCache()
    live.drop_job("RayJob", job.identity.uid)
    live.doubt("TrainJob", "", jobs=True)
    live.put_job(job)
    assert live.jobs() == []
    live.doubt("RayJob", "", jobs=True)
    live.put_job(job)
    assert live.jobs() == [job]


def test_what_went_long_ago_is_not_remembered() -> None:
    """The memory for it has a bound."""
    bench = Bench()
    job = bench.job()
    live = ObjectCache()
    live.drop_job("RayJob", job.identity.uid)
    live.put_job(job)
    assert live.jobs() == []
    for number in range(GONE_MAX):
        live.drop_job("RayJob", f"uid-{number}")
    live.put_job(job)
    assert [text(item.manifest, "metadata", "name") for item in live.jobs()] == ["train"]
