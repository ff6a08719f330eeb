"""TrainJobs and Jobs are restored from a backup, their statuses included, as RayJobs are."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from jobledger.core.ports.cluster import RAYJOBS, TRAINJOBS, Resource
from jobledger.core.values.documents import Manifest, child, text
from tests.simulation.jobs import jobs_of, restore
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move
from tests.simulation.upheavals import Upheaval


@dataclass
class Backups(Upheaval):
    """Whoever backs up jobs, and puts back those that are gone."""

    api: SimulatedApi
    restored: set[str]
    """UIDs of what was put back with a status; filled here."""
    present: bool
    of_trains_alone: bool = False
    """Whether Jobs are left out: one that is seen before its status is put back runs once more."""
    _kept: dict[tuple[Resource, str], Manifest] = field(default_factory=dict)

    def wishes(self) -> list[Move]:
        """Return what may be done next."""
        return list(self._moves()) if self.present else []

    def _moves(self) -> Iterator[Move]:
        there = {
            (of, text(job, "metadata", "name")): job
            for of, job in jobs_of(self.api)
            if of is not RAYJOBS  # which others restore
            if of is TRAINJOBS or not self.of_trains_alone
        }
        for place, job in there.items():
            yield f"back up {place[1]}", partial(self._kept.__setitem__, place, job)
        for place in [place for place in self._kept if place not in there]:
            yield f"restore {place[1]} with its status", partial(self._restore, *place)

    def _restore(self, resource: Resource, name: str) -> None:
        made = restore(self.api, resource, job := self._kept[resource, name])
        if child(job, "status"):
            self.restored.add(text(made, "metadata", "uid"))
