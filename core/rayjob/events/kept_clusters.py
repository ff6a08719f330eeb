"""Which RayClusters stay that might have gone, and which go that were to stay."""

from msgspec import Struct

from jobledger.core.values.instants import Instant


class ClusterKept(Struct, frozen=True, kw_only=True):
    """The job has ended, and nothing in its deletionStrategy covers how: its RayCluster stays."""

    at: Instant
    name: str
    uid: str
    cause: str


class ClusterCovered(Struct, frozen=True, kw_only=True):
    """The manifest was changed so that a RayCluster that was kept is covered now."""

    at: Instant
    name: str


class ClusterGivenUp(Struct, frozen=True, kw_only=True):
    """The RayCluster that was to stay for the next attempt does not: a new one is made."""

    at: Instant
    attempt: int
    name: str
    cause: str
