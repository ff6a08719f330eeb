"""What an answer of the head, or its silence, brings.

An answer that the job is not known is an answer: it ends the silence. Only where it means
something (the job had been
seen or handed in before, or the submitter has ended) is it written down.
"""

from core.jobs.troubles import is_new_trouble
from core.rayjob.events import (
    EntrypointMissed,
    EntrypointObserved,
    RayJobEvent,
    StatusCheckFailed,
    StatusCheckRecovered,
)
from core.rayjob.observations import PollAnswered, PollNotFound, PollUnanswered
from core.rayjob.phases import JobStatus
from core.rayjob.state import (
    RayJobState,
    awaits_submitter,
    recovers_lost_heads,
    submitter_of,
    wants_poll,
)


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
