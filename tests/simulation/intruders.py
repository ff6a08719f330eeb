"""Whoever makes objects of names that jobs need, puts back old ones, and edits what is not theirs.

In seeds from `WIDE_FROM` on alone, so that the dice of older ones fall as they did.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    CONFIGMAPS,
    JOBSETS,
    RAYJOBS,
    TRAINJOBS,
    Resource,
)
from jobledger.core.trainjob.names import snapshot_name
from jobledger.core.values.documents import Manifest, child, items, text
from tests.simulation.nature import Move, Nature

STRANGER = "example.com/stranger"
"""Label of what is nobody's."""
REPLACED = ("name", "namespace", "labels", "annotations", "ownerReferences")
CALM_GOES = (JOBSETS, CONFIGMAPS, BATCH_JOBS)


@dataclass
class Intruders:
    """Somebody who does not know that the names are taken."""

    nature: Nature
    present: bool

    def __post_init__(self) -> None:
        self.api = self.nature.api

    def possible(self) -> list[Move]:
        """Return what happens by itself: what is in the way goes again."""
        if not self.present:
            return []
        return [
            (f"the stranger's {resource.kind} {name} goes", partial(self._remove, resource, item))
            for resource in CALM_GOES
            for item in self.api.all(resource)
            if text(item, "metadata", "labels", STRANGER)
            and not text(item, "metadata", "deletionTimestamp")
            for name in [text(item, "metadata", "name")]
        ]

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        if not self.present:
            return []
        return [*self._in_the_way(), *self._put_back(), *self._edited()]

    def _in_the_way(self) -> Iterator[Move]:
        for resource, namespace, name in self._names():
            if self.api.get(resource, namespace, name) is None:
                labels: Manifest = {STRANGER: "true"}
                about: Manifest = {"name": name, "namespace": namespace, "labels": labels}
                make = partial(self.api.create, resource, {"metadata": about, "spec": {}})
                yield f"a stranger makes {resource.kind} {name}", make

    def _names(self) -> Iterator[tuple[Resource, str, str]]:
        for job in self.api.all(TRAINJOBS):
            namespace, name = text(job, "metadata", "namespace"), text(job, "metadata", "name")
            yield JOBSETS, namespace, name
            yield CONFIGMAPS, namespace, snapshot_name(name)
        for job in self.api.all(RAYJOBS):
            yield BATCH_JOBS, text(job, "metadata", "namespace"), text(job, "metadata", "name")

    def _put_back(self) -> Iterator[Move]:
        """Yield that an object is put back from a backup: the same, with another UID."""
        for resource in (JOBSETS, CONFIGMAPS, BATCH_JOBS):
            for item in self.api.all(resource):
                metadata = child(item, "metadata")
                owned, held = items(metadata, "ownerReferences"), items(metadata, "finalizers")
                if owned and not held:
                    put = partial(self._replace, resource, item)
                    yield f"another takes the place of {text(metadata, 'name')}", put

    def _edited(self) -> Iterator[Move]:
        for jobset in self.api.all(JOBSETS):
            if text(jobset, "metadata", "labels", STRANGER):
                continue
            suspended = child(jobset, "spec").get("suspend") is True
            toggle = partial(self._suspend, jobset, not suspended)
            yield f"somebody toggles JobSet {text(jobset, 'metadata', 'name')}", toggle

    def _suspend(self, jobset: Manifest, suspend: bool) -> None:
        spec: Manifest = {**child(jobset, "spec"), "suspend": suspend}
        self.api.replace(JOBSETS, {"metadata": child(jobset, "metadata"), "spec": spec})

    def _replace(self, resource: Resource, item: Manifest) -> None:
        metadata = child(item, "metadata")
        again = {"metadata": {key: metadata[key] for key in REPLACED if key in metadata}}
        self.nature.remove(resource, item)
        self.api.create(resource, {**item, **again})

    def _remove(self, resource: Resource, item: Manifest) -> None:
        metadata = child(item, "metadata")
        self.api.delete(resource, text(metadata, "namespace"), text(metadata, "name"))
