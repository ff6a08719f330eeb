"""Quotas and policies that refuse for a while, and not for one request alone."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    CONFIGMAPS,
    JOBSETS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINJOBS,
    Resource,
)
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move
from tests.simulation.upheavals import Upheaval

REFUSED: tuple[tuple[str, Resource], ...] = (
    *(("create", kind) for kind in (RAYCLUSTERS, BATCH_JOBS, JOBSETS, CONFIGMAPS)),
    *(("delete", kind) for kind in (RAYCLUSTERS, BATCH_JOBS, JOBSETS)),
    *(("status", kind) for kind in (RAYJOBS, TRAINJOBS, BATCH_JOBS)),
    *(("change", kind) for kind in (RAYJOBS, JOBSETS, BATCH_JOBS)),
)
"""What is refused of which kind: to be made, deleted, shown, changed."""
SELDOM = 0.1
"""How often somebody thinks of allowing it again, while there are faults."""


@dataclass
class Refusals(Upheaval):
    """Whoever sets quotas and policies, and takes them back."""

    api: SimulatedApi
    dice: Random
    calm: Callable[[], bool]
    present: bool

    def possible(self) -> list[Move]:
        """Return what happens by itself: what was refused is allowed again."""
        if not self.present or not self.api.refused:
            return []
        if not self.calm() and self.dice.random() >= SELDOM:
            return []
        return [
            (f"allowed again: {verb} {plural}", partial(self.api.refused.discard, (verb, plural)))
            for verb, plural in sorted(self.api.refused)
        ]

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        if not self.present:
            return []
        return [
            (f"refused from now on: {verb} {kind.plural}", partial(self._refuse, verb, kind))
            for verb, kind in REFUSED
            if (verb, kind.plural) not in self.api.refused
        ]

    def _refuse(self, verb: str, kind: Resource) -> None:
        self.api.refused.add((verb, kind.plural))
