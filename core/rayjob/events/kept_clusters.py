"""Which RayClusters stay that might have gone, and which go that were to stay."""

from dataclasses import dataclass

from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterKept:
    """The job has ended, and nothing in its deletionStrategy covers how: its RayCluster stays."""

    at: Instant
    name: str
    uid: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCovered:
    """The manifest was changed so that a RayCluster that was kept is covered now."""

    at: Instant
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterGivenUp:
    """The RayCluster that was to stay for the next attempt does not: a new one is made."""

    at: Instant
    attempt: int
    name: str
    cause: str
