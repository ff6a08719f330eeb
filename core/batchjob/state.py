"""The state of one Job: the fold of its stream, and the questions that rules ask of it."""

from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.batchjob.events import BatchJobReceived
from jobledger.core.batchjob.names import attempt_job_name, attempt_of
from jobledger.core.batchjob.observations import (
    NO_PODS,
    BatchJobSeen,
    JobEnd,
    PodCounts,
    SeenBatchStatus,
)
from jobledger.core.batchjob.phases import FINAL, Phase
from jobledger.core.batchjob.spec import BatchJobSpec
from jobledger.core.jobs.control.dormancy import is_leaving
from jobledger.core.jobs.evolve.shared_state import SharedAttempt, SharedRecorded, SharedState
from jobledger.core.jobs.gone import remember_gone
from jobledger.core.jobs.manifest.shared_manifest import SharedManifest
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.values.instants import Instant


class KnownBatchJob(SharedManifest, frozen=True, kw_only=True):
    """The manifest as it was last received."""

    spec: BatchJobSpec
    policy: Policy


def known_job(told: BatchJobSeen | BatchJobReceived) -> KnownBatchJob:
    """Return what is known of the manifest by a look at it, or by the event of it."""
    return KnownBatchJob(
        generation=told.generation,
        digest=told.digest,
        spec=told.spec,
        policy=told.policy,
        deleting_at=told.deleting_at,
        option_problems=told.option_problems,
    )


class AttemptJob(Struct, frozen=True, kw_only=True):
    """The Job of the present attempt."""

    uid: str
    suspend: bool = False
    deleting: bool = False
    delete_asked: bool = False
    pods: PodCounts = NO_PODS
    end: JobEnd | None = None
    observed: bool = False
    """Whether it was seen, and is not known by its creation alone."""
    version: str = ""
    """resourceVersion of the look that brought the last news; empty: unknown."""


class UnknownJob(Struct, frozen=True):
    """The Job of an attempt that the log knows nothing of."""

    attempt: int
    job: AttemptJob


class LateJob(Struct, frozen=True):
    """A Job of an earlier attempt that is there again: its creation arrived late."""

    name: str
    uid: str
    delete_asked: bool = False


class BatchAttempt(SharedAttempt, frozen=True, kw_only=True):
    """The current or last attempt."""

    job_name: str
    job: AttemptJob | None = None
    """None: it is not known to be there."""
    is_lost: bool = False
    """Whether its Job went before it had ended."""
    outcome: str = ""
    """Empty while it goes on."""
    reason: str = ""
    message: str = ""
    retry_at: Instant | None = None
    """Not before this instant the next one begins; None: none was granted."""
    retry_due: bool = False

    @property
    def is_over(self) -> bool:
        """Return whether it has ended."""
        return self.outcome != ""


class BatchRecorded(SharedRecorded, frozen=True, kw_only=True):
    """The job is only recorded; another controller decides about it, or it is held."""

    shown: SeenBatchStatus | None = None
    """What its status has shown last, as far as it was seen."""


class BatchJobState(SharedState, frozen=True, gc=False):
    """One Job. Every event replaces a field or two of it."""

    manifest: KnownBatchJob | None = None
    phase: Phase = Phase.NEW
    """Kept beside the facts it follows from: `evolve` sets it after every event."""
    attempt: BatchAttempt | None = None
    unknown_job: UnknownJob | None = None
    """The Job of an attempt that the log knows nothing of."""
    late_jobs: tuple[LateJob, ...] = ()
    """Jobs of earlier attempts that are to go."""
    suspended: bool | None = None
    """Whether the job says that it is suspended; None: it has said nothing yet."""
    suspension_changed_at: Instant | None = None
    failing: JobEnd | None = None
    """Why it is to fail; None: it is not."""
    end: JobEnd | None = None
    pods_failed: int = 0
    """Failed Pods of Jobs that are gone."""
    pods_failed_min: int = 0
    """As many were counted at most, or shown: the API server lets the counter never fall."""
    pods_succeeded: int = 0
    """Most succeeded Pods of any attempt; this counter must not fall either."""
    deadline_from: Instant | None = None
    """Since when the deadline over all attempts counts; None: it does not."""
    recorded: BatchRecorded | None = None
    """The job is only recorded; None: it is controlled here."""


def late_job_of(state: BatchJobState, uid: str) -> LateJob | None:
    """Return the Job of an earlier attempt with this UID; None if none such is known."""
    return next((late for late in state.late_jobs if late.uid == uid), None)


def without_late_job(state: BatchJobState, uid: str) -> BatchJobState:
    """Return the state after the Job of an earlier attempt went."""
    left = tuple(late for late in state.late_jobs if late.uid != uid)
    return remember_gone(replace(state, late_jobs=left), uid)


def without_job(state: BatchJobState) -> BatchJobState:
    """Return the state after the present attempt's Job went; its failed Pods stay counted."""
    attempt = state.attempt
    if attempt is None or attempt.job is None:
        return state
    is_lost = not attempt.is_over and attempt.job.end is None
    return replace(
        state,
        attempt=replace(attempt, job=None, is_lost=is_lost),
        pods_failed=state.pods_failed + attempt.job.pods.failed,
    )


def is_final(state: BatchJobState) -> bool:
    """Return whether the job has ended for good."""
    return state.phase in FINAL


def is_to_be_suspended(state: BatchJobState) -> bool:
    """Return whether its specification asks that it is suspended."""
    return state.manifest is not None and state.manifest.spec.suspend


def is_creating(state: BatchJobState) -> bool:
    """Return whether a Job was asked for and it is not known what became of that."""
    return any(item.desired.kind is EffectKind.CREATE_ATTEMPT_JOB for item in state.effects)


def is_at_work(state: BatchJobState) -> bool:
    """Return whether the present attempt's Job is there and has not ended."""
    job = state.attempt.job if state.attempt is not None else None
    return job is not None and job.end is None


def is_open(state: BatchJobState) -> bool:
    """Return whether anything is left to do or to wait for."""
    if state.deleted_at is not None or state.manifest is None:
        return False
    unfinished = bool(state.effects or state.decisions or state.late_jobs)
    return not is_final(state) or unfinished or is_at_work(state) or is_leaving(state)


def number_of(state: BatchJobState, name: str) -> int:
    """Return for which attempt a Job is called so; 0: for none."""
    if state.attempt is not None and name == state.attempt.job_name:
        return state.attempt.number
    identity = state.identity
    return attempt_of(identity.name, identity.uid, name) if identity is not None else 0


def name_for(state: BatchJobState, attempt: int) -> str:
    """Return the name of an attempt's Job."""
    assert state.identity is not None, "a stream begins with who the job is"
    return attempt_job_name(state.identity.name, state.identity.uid, attempt)


def pods_of(state: BatchJobState) -> PodCounts:
    """Return the Pods of the present attempt."""
    job = state.attempt.job if state.attempt is not None else None
    return job.pods if job is not None else NO_PODS


def phase_of(state: BatchJobState) -> Phase:
    """Return the phase that the facts amount to; the first that holds."""
    if state.end is not None:
        return Phase.COMPLETE if state.end.completed else Phase.FAILED
    if state.failing is not None:
        return Phase.FAILING
    if state.suspended:
        return Phase.SUSPENDED
    if state.attempt is None:
        return Phase.NEW
    is_failed = state.attempt.is_over and state.attempt.outcome != "succeeded"
    return Phase.RETRYING if is_failed else Phase.RUNNING
