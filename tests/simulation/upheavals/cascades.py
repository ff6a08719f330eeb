"""Jobs, and what is made for them, are deleted in the foreground, or so that the rest stays."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    CONFIGMAPS,
    JOBSETS,
    POD_GROUPS,
    PODS,
    RAYCLUSTERS,
    RAYJOBS,
    SECRETS,
    TRAINJOBS,
    Resource,
)
from jobledger.core.values.documents import Manifest, child, items, text
from tests.simulation.batch_users import is_given
from tests.simulation.documents import owners_of
from tests.simulation.intruders import STRANGER
from tests.simulation.jobs import is_job
from tests.simulation.nature import SLOW_FINALIZER, Move, Nature
from tests.simulation.upheavals import Upheaval
from tests.simulation.users import SHARED

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
"""Finalizers of the garbage collector."""
DELETED = (RAYJOBS, TRAINJOBS, RAYCLUSTERS, JOBSETS, BATCH_JOBS)
LEFT = (JOBSETS, CONFIGMAPS, BATCH_JOBS, RAYCLUSTERS, PODS, SECRETS, POD_GROUPS)
"""What was orphaned is cleared away in the end: jobs of the same names need the names."""


@dataclass
class Cascades(Upheaval):
    """Whoever deletes with `--cascade=foreground` or `orphan`, and the garbage collector."""

    nature: Nature
    present: bool

    def __post_init__(self) -> None:
        self.api = self.nature.api

    def possible(self) -> list[Move]:
        """Return what happens by itself."""
        if not self.present:
            return []
        return [*self._collected(), *self._cleared()]

    def troubles(self) -> list[Move]:
        """Return what can go wrong next: what is made for jobs is deleted so."""
        return self._deletions(of_jobs=False)

    def wishes(self) -> list[Move]:
        """Return what users may do next."""
        return self._deletions(of_jobs=True)

    def _deletions(self, *, of_jobs: bool) -> list[Move]:
        found: list[Move] = []
        for resource, item in self._all(DELETED):
            name, leaves = (text(item, "metadata", key) for key in ("name", "deletionTimestamp"))
            if (
                not self.present
                or is_job(resource, item) is not of_jobs
                or leaves
                or name == SHARED
            ):
                continue
            for how in (FOREGROUND, ORPHAN):
                delete = partial(self._delete, resource, item, how)
                found.append((f"delete {resource.kind} {name}: {how}", delete))
        return found

    def _delete(self, resource: Resource, item: Manifest, how: str) -> None:
        held = items(item, "metadata", "finalizers")
        self.api.put_finalizers(resource, item, [*held, how])
        self.nature.remove(resource, item)

    def _collected(self) -> Iterator[Move]:
        for resource, item in self._all(DELETED):
            held, name = items(item, "metadata", "finalizers"), text(item, "metadata", "name")
            if not text(item, "metadata", "deletionTimestamp"):
                continue
            if FOREGROUND in held:
                yield from self._foreground(resource, item, name)
            if ORPHAN in held:
                yield f"{name} leaves all behind", partial(self._leave_behind, resource, item)

    def _foreground(self, resource: Resource, item: Manifest, name: str) -> Iterator[Move]:
        below = list(self._dependents(item))
        for of, one in below:
            if not text(one, "metadata", "deletionTimestamp"):
                what = f"with {name} {of.kind} {text(one, 'metadata', 'name')} goes"
                yield what, partial(self.nature.remove, of, one)
            elif SLOW_FINALIZER in items(one, "metadata", "finalizers"):
                yield f"{text(one, 'metadata', 'name')} goes", partial(self.nature.let_go, of, one)
        if not below:
            yield f"{name} has none below it", partial(self._let_go, resource, item, FOREGROUND)

    def _leave_behind(self, resource: Resource, item: Manifest) -> None:
        uid = text(item, "metadata", "uid")
        for of, one in list(self._dependents(item)):
            about = child(one, "metadata")
            owners = [owner for owner in owners_of(one) if text(owner, "uid") != uid]
            patch: Manifest = {"metadata": {"ownerReferences": owners}}
            self.api.merge_patch(of, text(about, "namespace"), text(about, "name"), patch)
        self._let_go(resource, item, ORPHAN)

    def _let_go(self, resource: Resource, item: Manifest, finalizer: str) -> None:
        held = items(item, "metadata", "finalizers")
        self.api.put_finalizers(resource, item, [one for one in held if one != finalizer])

    def _dependents(self, item: Manifest) -> Iterator[tuple[Resource, Manifest]]:
        uid = text(item, "metadata", "uid")
        for resource, one in self.api.of_namespace(text(item, "metadata", "namespace")):
            if any(text(owner, "uid") == uid for owner in owners_of(one)):
                yield resource, one

    def _cleared(self) -> Iterator[Move]:
        for resource, item in self._all(LEFT):
            name = text(item, "metadata", "name")
            nobodys = not owners_of(item) and not is_given(item) and name != SHARED
            if nobodys and not text(item, "metadata", "labels", STRANGER):
                if text(item, "metadata", "deletionTimestamp"):
                    yield f"{name} goes", partial(self.nature.let_go, resource, item)
                else:
                    clear = partial(self.nature.remove, resource, item)
                    yield f"somebody clears {resource.kind} {name} away", clear

    def _all(self, kinds: tuple[Resource, ...]) -> Iterator[tuple[Resource, Manifest]]:
        return chain.from_iterable(((of, item) for item in self.api.all(of)) for of in kinds)
