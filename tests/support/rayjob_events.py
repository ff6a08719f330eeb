"""Events of `then`: their instant and ids are left to the rules, the rest has defaults."""

from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionFired,
    DecisionScheduled,
    EffectRequested,
    EffectSuperseded,
)
from jobledger.core.jobs.events import EffectSucceeded as Succeeded
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.retry import Blame
from jobledger.core.rayjob.events.lifecycle import (
    AttemptFailed,
    AttemptReachedRunning,
    AttemptStarted,
    ClusterObserved,
    EntrypointObserved,
    JobFailed,
    ManifestReceived,
    RayJobEvent,
    RetryGranted,
    RetryRefused,
    SubmitterFinished,
    SubmitterObserved,
)
from jobledger.core.rayjob.observations.observations import ManifestSeen
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.rules.failure_class import by_reason
from jobledger.core.values.documents import Manifest
from tests.support.rayjob_builders import (
    ADDRESS,
    JOB,
    POLICY,
    after,
    cluster_of,
    manifest,
    submission_of,
)
from tests.support.rows import THIS_DECISION, THIS_EFFECT, WHEN

FINALIZER_OBJECT = "rayjob"
SERVICE = f"{JOB}-head-svc"

HEAD_LOST = Blame(FailureClass.HEAD_LOST)
NOT_HANDED_IN = Blame(FailureClass.SUBMISSION)
EXIT_1 = Blame(FailureClass.APPLICATION, 1)
"""What `failing` of the stories is judged by."""


def received(
    seen: ManifestSeen | None = None, *, document: bool = True, policy: Policy = POLICY
) -> ManifestReceived:
    """Return what is written of a look at the object; `document` only if its spec changed."""
    found = seen or manifest(policy=policy)
    return ManifestReceived(
        at=WHEN,
        generation=found.generation,
        digest=found.digest,
        spec=found.spec,
        policy=found.policy,
        finalizer=found.finalizer,
        problem=found.problem,
        deleting_at=found.deleting_at,
        document=found.document if document else {},
        options=found.options,
        option_problems=found.option_problems,
    )


def asked(
    kind: EffectKind,
    name: str = FINALIZER_OBJECT,
    *,
    attempt: int = 1,
    generation: int = 1,
    uid: str = "",
    address: str = "",
) -> EffectRequested:
    """Return that an effect is asked for."""
    return EffectRequested(
        at=WHEN,
        effect_id=THIS_EFFECT,
        kind=kind,
        attempt=attempt,
        name=name,
        uid=uid,
        address=address,
        generation=generation,
        digest=f"digest-{generation}",
    )


def did(
    kind: EffectKind, name: str = FINALIZER_OBJECT, *, uid: str = "", gone: bool = False
) -> Succeeded:
    """Return that an effect was done."""
    return Succeeded(at=WHEN, effect_id=THIS_EFFECT, kind=kind, name=name, uid=uid, gone=gone)


def dropped(
    kind: EffectKind, name: str = FINALIZER_OBJECT, *, cause: str = "no longer wanted"
) -> EffectSuperseded:
    """Return that an open effect is no longer wanted."""
    return EffectSuperseded(at=WHEN, effect_id=THIS_EFFECT, kind=kind, name=name, cause=cause)


def scheduled(
    kind: DecisionKind, due_at: float, cause: str, *, attempt: int = 1, subject: str = ""
) -> DecisionScheduled:
    """Return that a decision is scheduled, `due_at` in seconds after noon."""
    return DecisionScheduled(
        at=WHEN,
        decision_id=THIS_DECISION,
        kind=kind,
        attempt=attempt,
        due_at=after(due_at),
        cause=cause,
        subject=subject,
    )


def fired(kind: DecisionKind, due_at: float, *, subject: str = "") -> DecisionFired:
    """Return that a decision fired, `due_at` in seconds after noon."""
    due = after(due_at)
    return DecisionFired(at=WHEN, decision_id=THIS_DECISION, kind=kind, due_at=due, subject=subject)


def cancelled(kind: DecisionKind, cause: str) -> DecisionCancelled:
    """Return that a decision is no longer needed."""
    return DecisionCancelled(at=WHEN, decision_id=THIS_DECISION, kind=kind, cause=cause)


def started(attempt: int = 1, *, generation: int = 1, **names: str) -> AttemptStarted:
    """Return that an attempt began."""
    return AttemptStarted(
        at=WHEN,
        attempt=attempt,
        cluster_name=names.get("cluster_name", cluster_of(attempt)),
        job_id=names.get("job_id", submission_of(attempt)),
        generation=generation,
    )


def service_asked(attempt: int = 1, *, generation: int = 1) -> EffectRequested:
    """Return that the Service of the job's head is to lead to the attempt's RayCluster."""
    kind = EffectKind.CREATE_SERVICE if attempt == 1 else EffectKind.UPDATE_SERVICE
    return asked(kind, SERVICE, attempt=attempt, generation=generation)


def reached_running(attempt: int = 1) -> AttemptReachedRunning:
    """Return that an attempt is running."""
    return AttemptReachedRunning(at=WHEN, attempt=attempt, address=ADDRESS)


def cluster_is(
    state: str = "ready",
    *,
    attempt: int = 1,
    name: str = "",
    uid: str = "",
    deleting: bool = False,
    address: str = ADDRESS,
    status: Manifest | None = None,
) -> ClusterObserved:
    """Return that the attempt's RayCluster is in a state."""
    return ClusterObserved(
        at=WHEN,
        name=name or cluster_of(attempt),
        uid=uid or f"cluster-{attempt}",
        state=state,
        address=address,
        deleting=deleting,
        status={"state": state} if status is None else status,
    )


def submitter_is_there(attempt: int = 1, *, deleting: bool = False) -> SubmitterObserved:
    """Return that the submitter was seen."""
    uid = f"submitter-{attempt}"
    return SubmitterObserved(at=WHEN, name=JOB, uid=uid, deleting=deleting)


def submitter_ended(
    outcome: str, finished_at: float, *, reason: str = "", message: str = "", attempt: int = 1
) -> SubmitterFinished:
    """Return that the submitter ended."""
    return SubmitterFinished(
        at=WHEN,
        name=JOB,
        uid=f"submitter-{attempt}",
        outcome=outcome,
        finished_at=after(finished_at),
        reason=reason,
        message=message,
    )


def ray_says(
    status: str,
    *,
    attempt: int = 1,
    job_id: str = "",
    message: str = "",
    started_at: float | None = None,
    ended_at: float | None = None,
    exit_code: int | None = None,
) -> EntrypointObserved:
    """Return Ray's account of the entrypoint."""
    return EntrypointObserved(
        at=WHEN,
        job_id=job_id or submission_of(attempt),
        status=JobStatus(status),
        message=message,
        started_at=None if started_at is None else after(started_at),
        ended_at=None if ended_at is None else after(ended_at),
        exit_code=exit_code,
    )


def failed_for_good(
    reason: str,
    message: str,
    rule: str,
    *,
    status: str = "",
    failed: int = 1,
    backoff_limit: int = 0,
    blame: Blame | None = None,
) -> tuple[RayJobEvent, ...]:
    """Return the end of an attempt in failure that no other follows; blamed by its reason."""
    blame = Blame(by_reason(reason)) if blame is None else blame
    return (
        AttemptFailed(
            at=WHEN,
            attempt=failed,
            reason=reason,
            message=message,
            failed=failed,
            job_status=JobStatus(status),
        ),
        RetryRefused(
            at=WHEN,
            attempt=failed,
            backoff_limit=backoff_limit,
            failed=failed,
            reason=reason,
            rule=rule,
            failure=blame.failure,
            exit_code=blame.exit_code,
        ),
        JobFailed(at=WHEN, attempt=failed, reason=reason, message=message),
    )


def failed_to_retry(
    reason: str,
    message: str,
    *,
    due_at: float,
    status: str = "",
    failed: int = 1,
    backoff_limit: int,
    blame: Blame | None = None,
) -> tuple[RayJobEvent, ...]:
    """Return the end of an attempt in failure that another follows; blamed by its reason."""
    blame = Blame(by_reason(reason)) if blame is None else blame
    return (
        AttemptFailed(
            at=WHEN,
            attempt=failed,
            reason=reason,
            message=message,
            failed=failed,
            job_status=JobStatus(status),
        ),
        RetryGranted(
            at=WHEN,
            attempt=failed,
            backoff_limit=backoff_limit,
            failed=failed,
            reason=reason,
            rule=f"failed attempt {failed} is within backoffLimit {backoff_limit}",
            due_at=after(due_at),
            failure=blame.failure,
            exit_code=blame.exit_code,
        ),
    )
