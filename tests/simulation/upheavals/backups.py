"""TrainJobs and Jobs are restored from a backup, their statuses included, as RayJobs are."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from jobledger.core.ports.cluster import BATCH_JOBS, TRAINJOBS, Resource
from jobledger.core.values.documents import Manifest, child, text
from tests.simulation.batch_users import users_jobs
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move
from tests.simulation.oddities import RESTORED


@dataclass
class Backups:
    """Whoever backs up jobs, and puts back those that are gone."""

    api: SimulatedApi
    restored: set[str]
    """UIDs of what was put back with a status; filled here."""
    present: bool
    _kept: dict[tuple[Resource, str], Manifest] = field(default_factory=dict)

    def possible(self) -> list[Move]:
        """Return what happens by itself: nothing."""
        return []

    def troubles(self) -> list[Move]:
        """Return what can go wrong next: nothing."""
        return []

    def wishes(self) -> list[Move]:
        """Return what may be done next."""
        return list(self._moves()) if self.present else []

    def _moves(self) -> Iterator[Move]:
        there = {
            **{(TRAINJOBS, text(job, "metadata", "name")): job for job in self.api.all(TRAINJOBS)},
            **{(BATCH_JOBS, text(job, "metadata", "name")): job for job in users_jobs(self.api)},
        }
        for place, job in there.items():
            yield f"back up {place[1]}", partial(self._kept.__setitem__, place, job)
        for place in [place for place in self._kept if place not in there]:
            yield f"restore {place[1]} with its status", partial(self._restore, *place)

    def _restore(self, resource: Resource, name: str) -> None:
        job = self._kept[resource, name]
        kept = {key: child(job, "metadata").get(key) for key in RESTORED}
        kept = {key: value for key, value in kept.items() if value is not None}
        made = self.api.create(resource, {**job, "metadata": kept})
        if status := child(job, "status"):
            self.restored.add(text(made, "metadata", "uid"))
            self.api.overwrite(resource, made, status)
