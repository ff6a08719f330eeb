"""The types of observations of a TrainJob: the job, its runtime, its JobSet, its other objects."""

from typing import TypeAlias

from msgspec import Struct

from jobledger.core.jobs.manifest.shared_manifest import SharedManifestSeen
from jobledger.core.jobs.observations import SharedObservation
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.contributions.contribution import Contribution
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.trainjob.progress import TrainerProgress
from jobledger.core.trainjob.spec import TrainJobSpec
from jobledger.core.values.ids import ObservationId
from jobledger.core.values.instants import Instant


class JobCounts(Struct, frozen=True, kw_only=True):
    """How many Jobs of one replicatedJob are in which state. Pods are not counted."""

    name: str
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    active: int = 0
    suspended: int = 0


class SeenTrainStatus(Struct, frozen=True, kw_only=True):
    """The `.status` that an object had when it was first seen.

    It is another controller's work, or our own of an earlier life.
    """

    conditions: tuple[Condition, ...] = ()
    jobs: tuple[JobCounts, ...] = ()


class TrainJobSeen(SharedManifestSeen, frozen=True, kw_only=True, gc=False):
    """The TrainJob object as it is; the times of its patches are not in the digest."""

    spec: TrainJobSpec
    policy: TrainPolicy
    status: SeenTrainStatus
    builder: str = ""
    """Versions of what builds here: this program and its plugins."""


class TrainJobGone(Struct, frozen=True, kw_only=True):
    """The TrainJob object is no longer there."""

    id: ObservationId
    at: Instant


class RuntimeSeen(Struct, frozen=True, kw_only=True):
    """The runtime that the job names, as it is."""

    id: ObservationId
    at: Instant
    digest: str
    """Keyed digest of its specification, labels and annotations; empty: it is not there."""


class DependentGone(Struct, frozen=True, kw_only=True):
    """An object that the job owns, and that is no JobSet, is no longer there."""

    id: ObservationId
    at: Instant
    name: str
    uid: str
    kind: str = "ConfigMap"
    built: bool = True
    """Whether objects of its kind are built for the job, and so made again."""


class JobSetEnd(Struct, frozen=True, kw_only=True):
    """The terminal condition of a JobSet."""

    completed: bool
    reason: str
    message: str
    ended_at: Instant


class JobSetSeen(Struct, frozen=True, kw_only=True):
    """The JobSet of the job's name, as it is."""

    id: ObservationId
    at: Instant
    name: str
    uid: str
    owned: bool
    """Whether its controller is this job."""
    generation: int
    suspend: bool
    """spec.suspend."""
    restarts: int
    deleting: bool
    jobs: tuple[JobCounts, ...]
    """In the JobSet's own order."""
    end: JobSetEnd | None
    contributed: tuple[Condition, ...] = ()
    """What plugins make of it, in logs of before `PluginConditionsSeen`."""
    version: str = ""
    """Its resourceVersion."""
    instead_of: str = ""
    """The version that the log had when it was asked for; empty: nobody asked."""


class JobSetGone(Struct, frozen=True, kw_only=True):
    """The JobSet is no longer there."""

    id: ObservationId
    at: Instant
    name: str
    uid: str


class PluginConditionsSeen(Struct, frozen=True, kw_only=True):
    """What a plugin makes of an object that the job owns."""

    id: ObservationId
    at: Instant
    contribution: Contribution


class ProgressSeen(Struct, frozen=True, kw_only=True):
    """What the job's Pods have reported of their progress, as its status shows it."""

    id: ObservationId
    at: Instant
    progress: TrainerProgress
    reports: int = 1
    """How many different ones were seen since the last that was passed on, this one included."""


TrainJobOwn: TypeAlias = (
    TrainJobSeen
    | TrainJobGone
    | RuntimeSeen
    | DependentGone
    | JobSetSeen
    | JobSetGone
    | PluginConditionsSeen
    | ProgressSeen
)
"""Observations that only this kind has."""

TrainJobObservation: TypeAlias = TrainJobOwn | SharedObservation
