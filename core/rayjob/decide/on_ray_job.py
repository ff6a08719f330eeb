"""Events that follow from an answer of the Ray head, or from its silence.

An answer that the job is not known is an answer: it ends the silence. Only where it means
something (the job had been seen or handed in before, or the submitter has ended) is it written
down. A head whose Pod was seen and has neither gone nor been started again still has its jobs: that
it does not know one is doubted, as a failed check, until it has said nothing else for a while. So
is one that no submitter is known for: that of an attempt that was taken over may be told late.
"""

from datetime import timedelta

from jobledger.core.jobs.reported_errors import is_new_trouble
from jobledger.core.rayjob.events.lifecycle import (
    EntrypointMissed,
    EntrypointObserved,
    RayJobEvent,
    StatusCheckFailed,
    StatusCheckRecovered,
)
from jobledger.core.rayjob.observations.observations import (
    PollAnswered,
    PollNotFound,
    PollUnanswered,
)
from jobledger.core.rayjob.observations.ray_job import UNKNOWN_TO_ITS_HEAD
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.rules.left_alone import is_left_alone
from jobledger.core.rayjob.state import (
    Attempt,
    RayJobState,
    awaits_submitter,
    recovers_lost_heads,
    submitter_of,
    wants_poll,
)

DOUBTED = timedelta(seconds=30)
"""So long a head that was not seen to restart has to say that it does not know the Ray job.

Ten of upstream's questions; and a restart shows in the Pod within a few seconds.
"""


def on_poll_answered(state: RayJobState, seen: PollAnswered) -> tuple[RayJobEvent, ...]:
    """Return what is new about the Ray job; an ended one does not come back to life."""
    known, attempt = state.entrypoint, state.attempt
    if attempt is None or not wants_poll(state) or seen.job_id != attempt.job_id:
        return ()
    recovered = _recovered(state, seen)
    observed = EntrypointObserved(
        at=seen.at,
        job_id=seen.job_id,
        status=seen.status,
        message=seen.message,
        started_at=seen.started_at,
        ended_at=seen.ended_at,
        error_type=seen.error_type,
        exit_code=seen.exit_code,
    )
    same = (
        known.status is seen.status
        and known.message == seen.message
        and known.started_at == seen.started_at
        and known.ended_at == seen.ended_at
        and known.exit_code == seen.exit_code
    )
    if same and not attempt.look_wanted:
        return recovered
    if known.has_ended and known.status is not seen.status:
        return recovered
    return *recovered, observed


def on_poll_not_found(state: RayJobState, seen: PollNotFound) -> tuple[RayJobEvent, ...]:
    """Return that the head does not know the job, where that means something."""
    attempt = state.attempt
    if attempt is None or not wants_poll(state) or seen.job_id != attempt.job_id:
        return ()
    if _is_doubted(state, attempt) or is_left_alone(state):
        return _doubtful(state, seen)
    recovered = _recovered(state, seen)
    submitter = submitter_of(state)
    known = state.entrypoint.status is not JobStatus.NEW and not recovers_lost_heads(state)
    expected = (
        attempt.submitted
        or attempt.look_wanted
        or not awaits_submitter(state)
        or known
        or (submitter is not None and submitter.outcome != "")
    )
    if not expected or (state.entrypoint.missed and not attempt.look_wanted):
        return recovered
    return *recovered, EntrypointMissed(at=seen.at, job_id=seen.job_id)


def _is_doubted(state: RayJobState, attempt: Attempt) -> bool:
    """Return whether the head must know the Ray job: it had it, and its Pod is as it was."""
    submitter = submitter_of(state)
    over = state.entrypoint.has_ended or (submitter is not None and submitter.outcome != "")
    had_it = attempt.submitted or state.entrypoint.status is not JobStatus.NEW
    lost = state.entrypoint.missed or recovers_lost_heads(state)
    return had_it and state.head is not None and not (over or lost or attempt.look_wanted)


def _doubtful(state: RayJobState, seen: PollNotFound) -> tuple[RayJobEvent, ...]:
    """Return that the check failed; and that the job is lost, once that was said for long enough.

    It ends no other silence, and counts from where that began: of two that take turns none would
    ever be long enough.
    """
    known = state.entrypoint
    if known.trouble != UNKNOWN_TO_ITS_HEAD or known.silent_since is None:
        if not is_new_trouble(UNKNOWN_TO_ITS_HEAD, known.trouble, known.troubles):
            return ()
        trouble = UNKNOWN_TO_ITS_HEAD
        return (StatusCheckFailed(at=seen.at, job_id=seen.job_id, trouble=trouble),)
    if seen.at - known.silent_since < DOUBTED:
        return ()
    return (EntrypointMissed(at=seen.at, job_id=seen.job_id),)


def on_poll_unanswered(state: RayJobState, seen: PollUnanswered) -> tuple[RayJobEvent, ...]:
    """Return that the head is silent, unless that was told already.

    It is told the first time, after a new look, and for each new kind of trouble.
    """
    known, attempt = state.entrypoint, state.attempt
    if attempt is None or not wants_poll(state) or seen.job_id != attempt.job_id:
        return ()
    if not is_new_trouble(seen.trouble, known.trouble, known.troubles) and not attempt.look_wanted:
        return ()
    return (StatusCheckFailed(at=seen.at, job_id=seen.job_id, trouble=seen.trouble),)


def _recovered(state: RayJobState, seen: PollAnswered | PollNotFound) -> tuple[RayJobEvent, ...]:
    if state.entrypoint.silent_since is None:
        return ()
    return (StatusCheckRecovered(at=seen.at, job_id=seen.job_id),)
