"""Events: the lifecycle of a RayJob.

These names are the storage format: `core.catalogue` gives each its stored type. `at` is the
instant the event was
true; it is stored in the envelope as `occurred_at`.
"""

from typing import TypeAlias

from msgspec import Struct

from jobledger.core.jobs.events import SharedEvent
from jobledger.core.jobs.manifest.shared_manifest import SharedManifestReceived
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import NOTHING_ASKED, RetryOptions
from jobledger.core.rayjob.events.facts import (
    ClusterObserved,
    ClusterVanished,
    EntrypointMissed,
    EntrypointObserved,
    FactEvent,
    HeadPodObserved,
    HeadPodVanished,
    OrphanClusterFound,
    OrphanClusterVanished,
    PartVanished,
    SidecarFinished,
    StatusCheckFailed,
    StatusCheckRecovered,
    SubmitterFinished,
    SubmitterObserved,
    SubmitterVanished,
)
from jobledger.core.rayjob.events.kept_clusters import ClusterCovered, ClusterGivenUp, ClusterKept
from jobledger.core.rayjob.events.pods import FailureNoticed, PodsObserved
from jobledger.core.rayjob.events.recorded import OthersStatusObserved, TransitionsMissed
from jobledger.core.rayjob.observations.observations import JobIdentity, Problem, SeenStatus
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.spec.spec import RayJobSpec
from jobledger.core.values.instants import Instant

__all__ = [
    "ClusterCovered",
    "ClusterGivenUp",
    "ClusterKept",
    "ClusterObserved",
    "ClusterVanished",
    "EntrypointMissed",
    "EntrypointObserved",
    "FactEvent",
    "FailureNoticed",
    "HeadPodObserved",
    "HeadPodVanished",
    "OrphanClusterFound",
    "OrphanClusterVanished",
    "OthersStatusObserved",
    "PartVanished",
    "PodsObserved",
    "SidecarFinished",
    "StatusCheckFailed",
    "StatusCheckRecovered",
    "SubmitterFinished",
    "SubmitterObserved",
    "SubmitterVanished",
    "TransitionsMissed",
]  # found here by everybody, defined beside this file


class JobDiscovered(Struct, frozen=True, kw_only=True):
    """A RayJob was seen for the first time."""

    at: Instant
    identity: JobIdentity


class JobAdopted(Struct, frozen=True, kw_only=True):
    """It already had a status: its life goes on from there, and nothing is started again."""

    at: Instant
    status: SeenStatus
    begun: bool = True
    """Whether an attempt can have begun; a job that waits since its creation had none, although
    KubeRay may show names that it had reserved."""


class ManifestReceived(SharedManifestReceived, frozen=True, kw_only=True):
    """The specification, or what else decides about the job, is now this."""

    spec: RayJobSpec
    policy: Policy
    finalizer: bool
    problem: Problem | None = None
    """Why it is not valid, if it is not."""
    options: RetryOptions = NOTHING_ASKED
    """What its annotations ask for."""


class ManifestRejected(Struct, frozen=True, kw_only=True):
    """The manifest is not valid; the job waits until it is."""

    at: Instant
    generation: int
    kind: str
    """Reason of the Kubernetes Event."""
    message: str
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class ManifestAccepted(Struct, frozen=True, kw_only=True):
    """The manifest is valid again; the job goes on where it was."""

    at: Instant
    generation: int
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class AttemptStarted(Struct, frozen=True, kw_only=True):
    """An attempt began: its names are fixed, nothing has been created yet."""

    at: Instant
    attempt: int
    cluster_name: str
    job_id: str
    """Ray's submission id; empty in InteractiveMode until the user names one."""
    generation: int
    same_cluster: bool = False
    """It runs on the RayCluster of the attempt before."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""
    selected: bool = False
    """Its RayCluster was selected and is not its own, whatever the manifest says by now."""


class AttemptReachedRunning(Struct, frozen=True, kw_only=True):
    """The RayCluster is ready and the entrypoint is on its way."""

    at: Instant
    attempt: int
    address: str
    """`host:port` of the head."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class AttemptReachedWaiting(Struct, frozen=True, kw_only=True):
    """The RayCluster is ready, and the user is to submit (InteractiveMode).

    The job waits until spec.jobId names the submission.
    """

    at: Instant
    attempt: int
    address: str
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class SubmissionNamed(Struct, frozen=True, kw_only=True):
    """The user named the submission to follow (InteractiveMode)."""

    at: Instant
    job_id: str
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class AttemptFailed(Struct, frozen=True, kw_only=True):
    """The attempt ended in failure."""

    at: Instant
    attempt: int
    reason: str
    """One of upstream's failure reasons."""
    message: str
    failed: int
    """Failed attempts so far, this one included unless it is not counted."""
    job_status: JobStatus
    """What is published as Ray's status: the last known, or FAILED where upstream forces it."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class RetryGranted(Struct, frozen=True, kw_only=True):
    """Another attempt follows once the last is cleared away; with the numbers it was judged by."""

    at: Instant
    attempt: int
    backoff_limit: int
    failed: int
    reason: str
    rule: str
    due_at: Instant
    """Not before this instant."""
    counted: bool = True
    """Whether the failure uses up backoffLimit."""
    failure: FailureClass = FailureClass.OTHER
    """The class it was judged by."""
    exit_code: int | None = None
    """The application's, if it is known."""
    evidence: str = ""
    """What a Pod said that decided about the class, or why none could be asked."""
    uncounted: int = 0
    """Retries granted without counting so far."""
    uncounted_max: int = 0
    """How many the job allows; 0 where no policy speaks of any."""
    keeps_cluster: bool = False
    """The RayCluster stays for the next attempt, as the job asks."""
    new_cluster_because: str = ""
    """Why it goes although the job asks that it stay."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class RetryRefused(Struct, frozen=True, kw_only=True):
    """No other attempt follows; with the numbers it was judged by."""

    at: Instant
    attempt: int
    backoff_limit: int
    failed: int
    reason: str
    rule: str
    failure: FailureClass = FailureClass.OTHER
    """The class it was judged by."""
    exit_code: int | None = None
    """The application's, if it is known."""
    evidence: str = ""
    """What a Pod said that decided about the class, or why none could be asked."""
    uncounted: int = 0
    """Retries granted without counting so far."""
    uncounted_max: int = 0
    """How many the job allows; 0 where no policy speaks of any."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class AttemptCleared(Struct, frozen=True, kw_only=True):
    """The failed attempt's RayCluster and submitter are gone.

    The job is as new; its counters are kept.
    """

    at: Instant
    attempt: int
    kept_cluster: str = ""
    """Name of its RayCluster, where that stays for the next attempt."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class SuspensionStarted(Struct, frozen=True, kw_only=True):
    """The job is to be suspended: its RayCluster and submitter go."""

    at: Instant
    attempt: int
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class JobSuspended(Struct, frozen=True, kw_only=True):
    """Nothing of the job is left in the cluster; it waits to be resumed."""

    at: Instant
    attempt: int
    """The last one. 0: none has begun, or none was seen where another controller suspended it."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class JobResumed(Struct, frozen=True, kw_only=True):
    """The job is no longer suspended; a new attempt begins."""

    at: Instant
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class JobCompleted(Struct, frozen=True, kw_only=True):
    """The job ended, with success or because somebody stopped it. Final."""

    at: Instant
    attempt: int
    job_status: JobStatus
    reason: str = ""
    message: str = ""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class JobFailed(Struct, frozen=True, kw_only=True):
    """The job ended in failure. Final."""

    at: Instant
    attempt: int
    reason: str
    message: str
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class DeletionStarted(Struct, frozen=True, kw_only=True):
    """Somebody asked for the RayJob object to be deleted."""

    at: Instant


class JobDeleted(Struct, frozen=True, kw_only=True):
    """The RayJob object is gone. Nothing more happens, unless a restored etcd brings it back."""

    at: Instant


class SuspensionPostponed(Struct, frozen=True, kw_only=True):
    """The job is to be suspended, in a phase that does not honour it.

    It takes effect in the next phase that does; Retrying is left as soon as nothing of the attempt
    is left, without the rest of its pause. Source: KubeRay honours `spec.suspend` in Initializing
    and Running only.
    """

    at: Instant
    phase: str


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
    | SuspensionPostponed
    | ClusterKept
    | ClusterCovered
    | ClusterGivenUp
    | FailureNoticed
    | OthersStatusObserved
    | TransitionsMissed
)
"""What became of the job itself."""

RayJobEvent: TypeAlias = FactEvent | LifeEvent | SharedEvent
