"""Etcd is restored from a backup: all objects are again what they were, and versions go back.

Nodes go by what the API server says then: what is gone is stopped, what is back is started anew.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from jobledger.core.ports.cluster import RAYCLUSTERS
from jobledger.core.rayjob.observations.children import dashboard_address
from jobledger.core.values.documents import text
from tests.simulation.etcd_state import Backup, Place
from tests.simulation.head_pods import HeadPods
from tests.simulation.jobs import is_job, jobs_of
from tests.simulation.kubernetes import Change
from tests.simulation.nature import Move, Nature
from tests.simulation.upheavals import Upheaval

RESTORES_MAX = 2
"""So often in a run at most."""


@dataclass
class EtcdRestores(Upheaval):
    """Whoever backs etcd up, and puts the backup back."""

    nature: Nature
    head_pods: HeadPods
    break_off: Callable[[], object]
    """Ends all watches, as the API server is started anew."""
    present: bool
    _backup: Backup | None = None
    _restores: int = 0
    _gone: set[str] = field(default_factory=set)
    """UIDs of jobs that were gone once."""

    def __post_init__(self) -> None:
        self.api = self.nature.api
        self.api.told.append(self._note)

    def possible(self) -> list[Move]:
        """Return what happens by itself."""
        return [*self._heads(), *self._deleted_again()] if self.present and self._restores else []

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        if not self.present or self._restores >= RESTORES_MAX:
            return []
        found: list[Move] = [("etcd is backed up", self._back_up)]
        if self._backup is not None:
            restore = partial(self._restore, self._backup)
            found.append(("etcd is restored", restore))
        return found

    def _note(self, change: Change) -> None:
        if change.kind == "gone" and is_job(change.resource, change.document):
            self._gone.add(text(change.document, "metadata", "uid"))

    def _back_up(self) -> None:
        self._backup = self.api.back_up()

    def _restore(self, backup: Backup) -> None:
        self._restores += 1
        self.break_off()
        for place in self.api.restore(backup):
            self._count_removed(place)

    def _count_removed(self, place: Place) -> None:
        key = (place[0], place[2])
        self.nature.removed[key] = self.nature.removed.get(key, 0) + 1

    def _heads(self) -> Iterator[Move]:
        """Yield that a head that is shown as running is started, as its node finds it is not."""
        heads = self.nature.heads
        for cluster in self.api.all(RAYCLUSTERS):
            address = dashboard_address(cluster)
            if address not in heads.up and self.head_pods.pod_of(cluster) is not None:
                name = text(cluster, "metadata", "name")
                yield f"the head of {name} is started anew", partial(heads.start, address)

    def _deleted_again(self) -> Iterator[Move]:
        for resource, job in jobs_of(self.api):
            back = text(job, "metadata", "uid") in self._gone
            if back and not text(job, "metadata", "deletionTimestamp"):
                remove = partial(self.nature.remove, resource, job)
                yield f"{text(job, 'metadata', 'name')}, which is back, is deleted", remove
