"""The types of observations of a Job: the user's Job, and the Jobs of its attempts."""

from typing import Annotated, TypeAlias

from msgspec import Struct, field

from jobledger.core.batchjob.spec import BatchJobSpec
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.observations import SharedObservation, Survey
from jobledger.core.jobs.policy import Policy
from jobledger.core.log.observed import TOLD_ONCE
from jobledger.core.values.documents import Manifest
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


class BatchJobSeen(Struct, frozen=True, kw_only=True, gc=False):
    """The user's Job as it is."""

    id: ObservationId
    at: Instant
    identity: JobIdentity
    generation: int
    digest: str
    """Keyed digest of the whole specification."""
    spec: BatchJobSpec
    policy: Policy
    deleting_at: Instant | None
    status: SeenBatchStatus
    document: Annotated[Manifest, TOLD_ONCE] = field(default_factory=dict)
    """The redacted specification, labels and annotations."""
    option_problems: tuple[str, ...] = ()
    """Annotations of ours that are left out, and why."""
    recorded: str = ""
    """Why the job is only recorded here; empty: it is controlled."""
    in_between: bool = False
    """It tells what another controller has done since this one stopped; of an unknown job it tells
    nothing."""
    written_here: bool = False
    """Whether this controller was the last to write the status."""
    survey: Survey | None = None
    """Names of the attempts' Jobs that are there; None: it is not known yet."""
    recover: str = ""
    """Which holding of the job its annotation asks to end (`lost_history.mark_of`)."""
    instead_of: int = 0
    """The generation that the log had when the object was asked for; 0: nobody asked."""


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
