"""Somebody, or a policy, takes the labels from what is made for jobs, or gives them back."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    CONFIGMAPS,
    JOBSETS,
    PODS,
    RAYCLUSTERS,
    Resource,
)
from jobledger.core.values.documents import Json, Manifest, child, text
from tests.simulation.documents import owners_of
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move
from tests.simulation.upheavals import Upheaval

LABELLED = (RAYCLUSTERS, BATCH_JOBS, JOBSETS, CONFIGMAPS, PODS)


@dataclass
class Relabelling(Upheaval):
    """Whoever edits labels; what was taken is given back in the end."""

    api: SimulatedApi
    present: bool
    _taken: dict[str, Json] = field(default_factory=dict)
    """UID -> the labels as they were."""

    def possible(self) -> list[Move]:
        """Return what happens by itself: labels are given back."""
        if not self._taken:
            return []
        return [
            (f"the labels of {text(item, 'metadata', 'name')} are back", give)
            for resource, item in self._all()
            if text(item, "metadata", "uid") in self._taken
            for give in [partial(self._give_back, resource, item)]
        ]

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        if not self.present:
            return []
        return [
            (f"somebody takes the labels from {text(item, 'metadata', 'name')}", take)
            for resource, item in self._all()
            if owners_of(item) and child(item, "metadata", "labels")
            for take in [partial(self._take, resource, item)]
        ]

    def _all(self) -> Iterator[tuple[Resource, Manifest]]:
        for resource in LABELLED:
            yield from ((resource, item) for item in self.api.all(resource))

    def _take(self, resource: Resource, item: Manifest) -> None:
        labels = child(item, "metadata", "labels")
        self._taken[text(item, "metadata", "uid")] = labels
        self._patch(resource, item, dict.fromkeys(labels))

    def _give_back(self, resource: Resource, item: Manifest) -> None:
        self._patch(resource, item, self._taken.pop(text(item, "metadata", "uid")))

    def _patch(self, resource: Resource, item: Manifest, labels: Any) -> None:  # noqa: ANN401 any JSON
        about = child(item, "metadata")
        patch: Manifest = {"metadata": {"labels": labels}}
        self.api.merge_patch(resource, text(about, "namespace"), text(about, "name"), patch)
