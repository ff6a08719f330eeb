"""The types of observations of a Job: the user's Job, and the Jobs of its attempts."""

from typing import TypeAlias

from msgspec import Struct

from jobledger.core.batchjob.spec import BatchJobSpec
from jobledger.core.jobs.manifest.shared_manifest import SharedManifestSeen
from jobledger.core.jobs.observations import SharedObservation
from jobledger.core.jobs.policy import Policy
from jobledger.core.values.ids import ObservationId
from jobledger.core.values.instants import Instant


class PodCounts(Struct, frozen=True, kw_only=True):
    """How many Pods of a Job are in which state."""

    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0


NO_PODS = PodCounts()


class JobEnd(Struct, frozen=True, kw_only=True):
    """The terminal condition of a Job: Complete or Failed."""

    completed: bool
    reason: str
    message: str
    ended_at: Instant


class SeenBatchStatus(Struct, frozen=True, kw_only=True):
    """The `.status` of the user's Job, as far as it tells more than its attempts do."""

    started_at: Instant | None = None
    suspended_since: Instant | None = None
    """Since when its condition Suspended is True; None: it is not."""
    pods: PodCounts = NO_PODS
    failing: JobEnd | None = None
    """Its condition FailureTarget, if that is True."""
    end: JobEnd | None = None


NO_STATUS = SeenBatchStatus()


class BatchJobSeen(SharedManifestSeen, frozen=True, kw_only=True, gc=False):
    """The user's Job as it is; a survey names the attempts' Jobs."""

    spec: BatchJobSpec
    policy: Policy
    status: SeenBatchStatus


class BatchJobGone(Struct, frozen=True, kw_only=True):
    """The user's Job is no longer there."""

    id: ObservationId
    at: Instant


class AttemptJobSeen(Struct, frozen=True, kw_only=True):
    """A Job whose controller is the user's Job, as it is; for which attempt says its name."""

    id: ObservationId
    at: Instant
    name: str
    uid: str
    suspend: bool
    """spec.suspend."""
    deleting: bool
    pods: PodCounts
    end: JobEnd | None
    version: str = ""
    """Its resourceVersion."""
    instead_of: str = ""
    """The version that the log had when it was asked for, or `GONE`; empty: nobody asked."""


class AttemptJobGone(Struct, frozen=True, kw_only=True):
    """The Job of an attempt is no longer there."""

    id: ObservationId
    at: Instant
    name: str
    uid: str
    """Empty where it was asked for by its name and not found."""


BatchJobObservation: TypeAlias = (
    BatchJobSeen | BatchJobGone | AttemptJobSeen | AttemptJobGone | SharedObservation
)
