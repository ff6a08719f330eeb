"""Everything that can have happened to a RayJob.

These names are the storage format: `core.catalogue` gives each its stored type. `at` is the
instant the event was
true; it is stored in the envelope as `occurred_at`.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from core.jobs.events import SharedEvent
from core.jobs.policy import Policy
from core.rayjob.observations import JobIdentity, Problem, SeenStatus
from core.rayjob.phases import JobStatus
from core.rayjob.spec import RayJobSpec
from core.values.documents import Manifest
from core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDiscovered:
    """A RayJob was seen for the first time."""

    at: Instant
    identity: JobIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAdopted:
    """It already had a status: its life goes on from there, and nothing is started again."""

    at: Instant
    status: SeenStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestReceived:
    """The specification, or what else decides about the job, is now this."""

    at: Instant
    generation: int
    digest: str
    """Keyed digest of the whole specification."""
    spec: RayJobSpec
    policy: Policy
    finalizer: bool
    problem: Problem | None = None
    """Why it is not valid, if it is not."""
    deleting_at: Instant | None = None
    """Since when the object is being deleted, by the API server's clock."""
    document: Manifest = field(default_factory=dict)
    """The redacted specification, labels and annotations.

    It is empty if the specification did not change.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRejected:
    """The manifest is not valid; the job waits until it is."""

    at: Instant
    generation: int
    kind: str
    """Reason of the Kubernetes Event."""
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestAccepted:
    """The manifest is valid again; the job goes on where it was."""

    at: Instant
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStarted:
    """An attempt began: its names are fixed, nothing has been created yet."""

    at: Instant
    attempt: int
    cluster_name: str
    job_id: str
    """Ray's submission id; empty in InteractiveMode until the user names one."""
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterObserved:
    """The attempt's RayCluster is there, in this state."""

    at: Instant
    name: str
    uid: str
    state: str
    address: str
    deleting: bool = False
    status: Manifest = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterVanished:
    """The attempt's RayCluster is no longer there."""

    at: Instant
    name: str
    uid: str
    asked: bool
    """Whether its deletion had been asked for here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrayClusterFound:
    """A RayCluster of this job that belongs to no present attempt; it is deleted."""

    at: Instant
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StrayClusterVanished:
    """Such a RayCluster is gone."""

    at: Instant
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitterObserved:
    """The attempt's submitter is there."""

    at: Instant
    name: str
    uid: str
    deleting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitterFinished:
    """The submitter ended."""

    at: Instant
    name: str
    uid: str
    outcome: str
    """Complete or Failed."""
    finished_at: Instant
    """By the cluster's clock."""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitterVanished:
    """The submitter is no longer there."""

    at: Instant
    name: str
    uid: str
    asked: bool
    """Whether its deletion had been asked for here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptReachedRunning:
    """The RayCluster is ready and the entrypoint is on its way."""

    at: Instant
    attempt: int
    address: str
    """`host:port` of the head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptReachedWaiting:
    """The RayCluster is ready, and the user is to submit (InteractiveMode).

    The job waits until spec.jobId names the submission.
    """

    at: Instant
    attempt: int
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionNamed:
    """The user named the submission to follow (InteractiveMode)."""

    at: Instant
    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrypointObserved:
    """Ray's account of the entrypoint is now this."""

    at: Instant
    job_id: str
    status: JobStatus
    message: str = ""
    started_at: Instant | None = None
    """By the head's clock."""
    ended_at: Instant | None = None
    """By the head's clock."""
    error_type: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrypointMissed:
    """The head answered that it does not know the submission."""

    at: Instant
    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusCheckFailed:
    """The head gave no answer that makes sense (the first time, or a new kind of trouble)."""

    at: Instant
    job_id: str
    trouble: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusCheckRecovered:
    """The head answers again."""

    at: Instant
    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed:
    """The attempt ended in failure."""

    at: Instant
    attempt: int
    reason: str
    """One of upstream's failure reasons."""
    message: str
    failed: int
    """Failed attempts so far, this one included."""
    job_status: JobStatus
    """What is published as Ray's status: the last known, or FAILED where upstream forces it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryGranted:
    """Another attempt follows once the old cluster is gone; with the numbers it was judged by."""

    at: Instant
    attempt: int
    backoff_limit: int
    failed: int
    reason: str
    rule: str
    due_at: Instant
    """Not before this instant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRefused:
    """No other attempt follows; with the numbers it was judged by."""

    at: Instant
    attempt: int
    backoff_limit: int
    failed: int
    reason: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCleared:
    """The failed attempt's RayCluster and submitter are gone.

    The job is as new; its counters are kept.
    """

    at: Instant
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspensionStarted:
    """The job is to be suspended: its RayCluster and submitter go."""

    at: Instant
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSuspended:
    """Nothing of the job is left in the cluster; it waits to be resumed."""

    at: Instant
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResumed:
    """The job is no longer suspended; a new attempt begins."""

    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCompleted:
    """The job ended, with success or because somebody stopped it. Final."""

    at: Instant
    attempt: int
    job_status: JobStatus
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailed:
    """The job ended in failure. Final."""

    at: Instant
    attempt: int
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionStarted:
    """Somebody asked for the RayJob object to be deleted."""

    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDeleted:
    """The RayJob object is gone. Nothing more will happen."""

    at: Instant


FactEvent: TypeAlias = (
    EntrypointObserved
    | ClusterObserved
    | ClusterVanished
    | StrayClusterFound
    | StrayClusterVanished
    | SubmitterObserved
    | SubmitterFinished
    | SubmitterVanished
    | EntrypointMissed
    | StatusCheckFailed
    | StatusCheckRecovered
)
"""What was seen of the RayCluster, the submitter and the Ray job."""

LifeEvent: TypeAlias = (
    JobDiscovered
    | JobAdopted
    | ManifestReceived
    | ManifestRejected
    | ManifestAccepted
    | AttemptStarted
    | AttemptReachedRunning
    | AttemptReachedWaiting
    | SubmissionNamed
    | AttemptFailed
    | RetryGranted
    | RetryRefused
    | AttemptCleared
    | SuspensionStarted
    | JobSuspended
    | JobResumed
    | JobCompleted
    | JobFailed
    | DeletionStarted
    | JobDeleted
)
"""What became of the job itself."""

RayJobEvent: TypeAlias = FactEvent | LifeEvent | SharedEvent
