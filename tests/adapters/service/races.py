"""A world with one job of either kind, for tests in which something is deleted meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from jobledger.core.ports.cluster import (
    JOBSETS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINJOBS,
    Propagation,
    Resource,
)
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP, K8S
from tests.support.train_world import TrainWorld, a_trainjob

EVENTS_MAX = 60
"""Of a job that is deleted in a race; most have half as many."""
REFUSED_EVENTS_MAX, TRIES_MAX = 90, 40
"""Of a quarter of an hour in which every request is refused, after longer and longer pauses."""
FOREIGN = "example.com/keeps"
"""A finalizer of somebody else."""


@dataclass
class Race:
    """A world with one job of either kind."""

    world: TrainWorld
    kind: str
    stream: StreamId
    spec: dict[str, Any]

    @property
    def resource(self) -> Resource:
        return RAYJOBS if self.kind != "TrainJob" else TRAINJOBS

    @property
    def runs_on(self) -> Resource:
        return RAYCLUSTERS if self.kind != "TrainJob" else JOBSETS

    @property
    def job(self) -> Manifest:
        return self.world.cluster.get(self.resource, "ml", "train") or {}

    @property
    def told(self) -> list[str]:
        return self.world.told(self.stream)

    def there(self) -> list[Manifest]:
        """Return what runs for any job."""
        return list(self.world.cluster.list(self.runs_on, "ml").items)

    def made(self) -> list[str]:
        """Return what was made of jobs until now."""
        plurals = ("rayclusters", "jobsets", "jobs", "services", "configmaps", "podgroups")
        found = [item for item in self.world.cluster.writes if item[0] == "create"]
        return [f"{plural}/{name}" for _, plural, name in found if plural in plurals]

    def how_often_made(self) -> int:
        """Return how often something was made for a job to run on."""
        return sum(one.startswith(self.runs_on.plural) for one in self.made())

    def ended(self) -> bool:
        if self.kind != "TrainJob":
            return self.world.phase("train") == "Complete"
        return self.world.condition("Complete")[0] == "True"

    def runs(self) -> bool:
        if self.kind != "TrainJob":
            return self.world.phase("train") == "Running"
        counted = [child(item) for item in items(self.job, "status", "jobsStatus")]
        return bool(counted) and counted[0].get("ready") == 1

    def delete(self, propagation: Propagation = "Background") -> None:
        self.world.cluster.delete(self.resource, "ml", "train", propagation=propagation)

    def rest(self, seconds: float = 0) -> None:
        """Let everything happen that will within so many seconds."""
        for _ in range(int(seconds / 10) + 1):
            self.world.run(lambda: True, "rest")
            self.world.clock.advance(min(seconds, 10))
            self.world.service.controller.look_around()
        self.world.run(lambda: True, "rest")

    def create(self) -> Manifest:
        manifest = a_trainjob() if self.kind == "TrainJob" else a_rayjob(**self.spec)
        return self.world.cluster.create(self.resource, manifest)

    def assert_over(self, events_max: int = EVENTS_MAX) -> None:
        """Assert that the job has gone with all that was made of it, and that the log says so."""
        assert self.job == {}
        assert self.there() == []
        self.assert_told(events_max)
        assert self.world.service.slots.held(self.stream) is None

    def assert_told(self, events_max: int = EVENTS_MAX) -> None:
        """Assert that the log says that the job has gone, in few events, and nothing after that."""
        gone = "TrainJobDeleted" if self.kind == "TrainJob" else "JobDeleted"
        after = {*self.told[self.told.index(gone) :]}
        assert after <= {"JobDeleted", "TrainJobDeleted", "EffectSuperseded", "DecisionCancelled"}
        assert len(self.told) <= events_max


def begun(kind: str, *, until_it_runs: bool = True, **more: Any) -> Race:  # noqa: ANN401 any JSON
    world = TrainWorld()
    world.plane.holds = world.jobsets.holds = True
    world.install_runtime()
    spec: dict[str, Any] = {"submissionMode": HTTP if kind == "RayJob by HTTP" else K8S, **more}
    deadline = {name: more[name] for name in more if name == "activeDeadlineSeconds"}
    stream = world.train(**deadline) if kind == "TrainJob" else world.create(a_rayjob(**spec))
    race = Race(world, kind, stream, spec)
    if until_it_runs:
        world.run(race.runs, "the job to run")
    return race


KINDS = ["RayJob", "RayJob by HTTP", "TrainJob"]
kinds = pytest.mark.parametrize("kind", KINDS)


def just_before(race: Race, method: str, happens: Callable[[], None], *plurals: str) -> None:
    """Let something happen when the service is about to write an object of these kinds, once."""
    write = getattr(race.world.cluster, method)

    def written(resource: Resource, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 any request
        if resource.plural in plurals and not is_done and not kwargs.get("subresource"):
            is_done.append(True)
            happens()
        return write(resource, *args, **kwargs)

    is_done: list[bool] = []
    setattr(race.world.cluster, method, written)


def uid_of(manifest: Manifest) -> str:
    return text(manifest, "metadata", "uid")


def take_away(race: Race) -> None:
    """Delete the job with its finalizer taken away, as who is in a hurry does."""
    patch: Manifest = {"metadata": {"finalizers": None}}
    race.world.cluster.patch_as("somebody", race.resource, "ml", "train", patch)
    race.delete()


def keep(race: Race, *objects: Manifest) -> None:
    """Let objects stay after they are deleted, as long as somebody else wants."""
    for one in objects:
        kept = [*items(one, "metadata", "finalizers"), FOREIGN]
        _finalizers(race, one, kept)


def let_go(race: Race, *objects: Manifest) -> None:
    """Let objects go that somebody else had kept."""
    for one in objects:
        left = [item for item in items(one, "metadata", "finalizers") if item != FOREIGN]
        _finalizers(race, one, left)


def _finalizers(race: Race, one: Manifest, finalizers: list[Any]) -> None:
    resource = {item.kind: item for item in (RAYJOBS, TRAINJOBS, RAYCLUSTERS, JOBSETS)}[
        text(one, "kind")
    ]
    patch: Manifest = {"metadata": {"finalizers": finalizers}}
    race.world.cluster.patch_as("somebody", resource, "ml", text(one, "metadata", "name"), patch)
