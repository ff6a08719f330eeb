"""Events of Jobs that are retried on new Jobs.

These names are the storage format: `core.batchjob.kind` gives each its stored type. `at` is the
instant the event was true; it is stored in the envelope as `occurred_at`.
"""

from typing import TypeAlias

from msgspec import Struct

from jobledger.core.batchjob.observations import NO_PODS, JobEnd, PodCounts, SeenBatchStatus
from jobledger.core.batchjob.spec import BatchJobSpec
from jobledger.core.jobs.events import SharedEvent
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.manifest.shared_manifest import SharedManifestReceived
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.values.instants import Instant


class BatchJobDiscovered(Struct, frozen=True, kw_only=True):
    """A Job that is given to this controller was seen for the first time."""

    at: Instant
    identity: JobIdentity


class BatchJobAdopted(Struct, frozen=True, kw_only=True):
    """It already had a status: its life goes on from there."""

    at: Instant
    status: SeenBatchStatus


class BatchJobReceived(SharedManifestReceived, frozen=True, kw_only=True):
    """The specification, or what else decides about the job, is now this."""

    spec: BatchJobSpec
    policy: Policy


class BatchAttemptStarted(Struct, frozen=True, kw_only=True):
    """An attempt began: its Job is to be made."""

    at: Instant
    attempt: int
    generation: int
    job_name: str
    """Name of the attempt's Job."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class BatchAttemptEnded(Struct, frozen=True, kw_only=True):
    """An attempt ended."""

    at: Instant
    attempt: int
    outcome: str
    """succeeded, failed, or unknown if its end was not seen."""
    reason: str = ""
    message: str = ""
    failure: FailureClass = FailureClass.OTHER
    """The class of the failure."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class BatchRetryGranted(Struct, frozen=True, kw_only=True):
    """Another attempt follows once the last one's Job is gone; with what it was judged by."""

    at: Instant
    attempt: int
    backoff_limit: int
    failed: int
    reason: str
    rule: str
    due_at: Instant
    failure: FailureClass = FailureClass.OTHER
    """The class it was judged by."""


class BatchRetryRefused(Struct, frozen=True, kw_only=True):
    """No other attempt follows; with the numbers it was judged by."""

    at: Instant
    attempt: int
    backoff_limit: int
    failed: int
    reason: str
    rule: str
    failure: FailureClass = FailureClass.OTHER
    """The class it was judged by."""


class BatchJobFailing(Struct, frozen=True, kw_only=True):
    """The job is to fail: it is Failed once nothing of it is at work."""

    at: Instant
    reason: str
    message: str


class BatchJobSuspended(Struct, frozen=True, kw_only=True):
    """The job is to be suspended, and says so."""

    at: Instant


class BatchJobResumed(Struct, frozen=True, kw_only=True):
    """The job is no longer to be suspended. A deadline over all attempts counts from here."""

    at: Instant


class BatchJobCompleted(Struct, frozen=True, kw_only=True):
    """The Job of an attempt is complete, and so is the user's. Final."""

    at: Instant
    reason: str
    message: str
    ended_at: Instant
    """By the attempt's Job."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class BatchJobFailed(Struct, frozen=True, kw_only=True):
    """No other attempt follows, and nothing is at work. Final."""

    at: Instant
    reason: str
    message: str
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class BatchJobDeletionStarted(Struct, frozen=True, kw_only=True):
    """Somebody asked for the Job to be deleted."""

    at: Instant


class BatchJobDeleted(Struct, frozen=True, kw_only=True):
    """The Job is gone. Nothing more will happen."""

    at: Instant


class OthersBatchStatusObserved(Struct, frozen=True, kw_only=True):
    """The `.status` that was written elsewhere, or that the log had lost, is this."""

    at: Instant
    status: SeenBatchStatus


class AttemptJobObserved(Struct, frozen=True, kw_only=True):
    """The Job of an attempt is there, in this state."""

    at: Instant
    attempt: int
    name: str
    uid: str
    suspend: bool
    """spec.suspend."""
    deleting: bool = False
    pods: PodCounts = NO_PODS
    """How many of its Pods are in which state."""
    end: JobEnd | None = None
    """Its terminal condition, if it has one."""
    version: str = ""
    """Its resourceVersion."""


class AttemptJobVanished(Struct, frozen=True, kw_only=True):
    """The Job of an attempt is no longer there."""

    at: Instant
    attempt: int
    name: str
    uid: str
    asked: bool
    """Whether its deletion had been asked for here."""


BatchFactEvent: TypeAlias = AttemptJobObserved | AttemptJobVanished
"""What was seen of the Jobs of attempts."""

BatchLifeEvent: TypeAlias = (
    BatchJobDiscovered
    | BatchJobAdopted
    | BatchJobReceived
    | BatchAttemptStarted
    | BatchAttemptEnded
    | BatchRetryGranted
    | BatchRetryRefused
    | BatchJobFailing
    | BatchJobSuspended
    | BatchJobResumed
    | BatchJobCompleted
    | BatchJobFailed
    | BatchJobDeletionStarted
    | BatchJobDeleted
    | OthersBatchStatusObserved
)
"""What became of the job itself."""

BatchOwnEvent: TypeAlias = BatchFactEvent | BatchLifeEvent
BatchJobEvent: TypeAlias = BatchOwnEvent | SharedEvent
