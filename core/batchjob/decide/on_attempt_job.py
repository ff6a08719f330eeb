"""Events that follow from an observation of the Job of an attempt."""

from jobledger.core.batchjob.events import AttemptJobObserved, AttemptJobVanished, BatchJobEvent
from jobledger.core.batchjob.observations import AttemptJobGone, AttemptJobSeen
from jobledger.core.batchjob.state import (
    AttemptJob,
    BatchJobState,
    is_creating,
    is_final,
    late_job_of,
    number_of,
)
from jobledger.core.jobs.control.dormancy import is_leaving
from jobledger.core.jobs.control.went_back import is_late_news, is_older_version
from jobledger.core.jobs.events import LedgerBehindFound
from jobledger.core.jobs.identity import is_another
from jobledger.core.jobs.pending.effects import EffectKind, is_under_way

News = tuple[BatchJobEvent, ...]


def on_attempt_job_seen(state: BatchJobState, seen: AttemptJobSeen) -> News:
    """Return what is new about the Job of the present attempt.

    One of a later attempt was made by events that the log has lost: the job is held, unless it is
    known to have ended. One of an earlier attempt is known to be gone, so it was made by a request
    that arrived late, or came back with an earlier state of the cluster.
    """
    if state.deleted_at is not None or state.manifest is None:
        return ()
    if is_late_news(seen.uid, state.gone, seen.instead_of):
        return ()
    number, current = number_of(state, seen.name), state.attempt
    known_number = current.number if current is not None else 0
    if number == 0 or (number < known_number and _is_known_late_job(state, seen)):
        return ()
    observed = AttemptJobObserved(
        at=seen.at,
        attempt=number,
        name=seen.name,
        uid=seen.uid,
        suspend=seen.suspend,
        deleting=seen.deleting,
        pods=seen.pods,
        end=seen.end,
        version=seen.version,
    )
    if number < known_number:
        return (observed,)
    if number == known_number:
        known = current.job if current is not None else None
        return () if known is not None and _is_no_news(known, seen) else (observed,)
    return _of_unknown_attempt(state, seen, observed, known_number)


def _of_unknown_attempt(
    state: BatchJobState, seen: AttemptJobSeen, observed: AttemptJobObserved, known_number: int
) -> News:
    """Return what the Job of an attempt tells that the log does not know."""
    unknown, number = state.unknown_job, observed.attempt
    if unknown is not None and unknown.attempt > number:
        return ()
    if unknown is not None and unknown.attempt == number and _is_no_news(unknown.job, seen):
        return ()
    if state.recorded is not None:
        return (observed,)
    if is_final(state):
        return ()  # its status was shown, so that Job has ended; it stays for its logs
    sign = f"Job {seen.name} was made for attempt {number}, and the log knows {known_number}"
    behind = LedgerBehindFound(
        at=seen.at, signs=(sign,), kind="Job", name=seen.name, uid=seen.uid, attempt=number
    )
    return behind, observed


def _is_known_late_job(state: BatchJobState, seen: AttemptJobSeen) -> bool:
    """Return whether a Job of an earlier attempt is none of ours to delete, or known as such."""
    return state.recorded is not None or seen.deleting or late_job_of(state, seen.uid) is not None


def _is_no_news(known: AttemptJob, seen: AttemptJobSeen) -> bool:
    """Return whether a look tells what is known, or is older than that: no end is taken back."""
    if is_another(known.uid, seen.uid) or not known.observed:
        return False
    if known.end is not None and seen.end is None:
        return True
    if is_older_version(seen.version, known.version, seen.instead_of):
        return True
    before = (known.suspend, known.deleting, known.pods, known.end)
    return before == (seen.suspend, seen.deleting, seen.pods, seen.end)


def on_attempt_job_gone(state: BatchJobState, gone: AttemptJobGone) -> News:
    """Return that the Job of an attempt is gone; its creation may not have been heard of yet."""
    attempt, unknown = state.attempt, state.unknown_job
    if state.deleted_at is not None or state.manifest is None or gone.uid in state.gone:
        return ()
    number = number_of(state, gone.name)
    if number == 0:
        return ()
    if late_job_of(state, gone.uid) is not None:
        return (
            AttemptJobVanished(
                at=gone.at, attempt=number, name=gone.name, uid=gone.uid, asked=True
            ),
        )
    if unknown is not None and unknown.attempt == number:
        known: AttemptJob | None = unknown.job
    elif attempt is not None and attempt.number == number:
        known = attempt.job
    else:
        return ()
    if known is None and not (gone.uid and is_creating(state)):
        return ()
    if known is not None and is_another(known.uid, gone.uid):
        return ()
    asked = is_leaving(state) or (known is not None and known.delete_asked)
    asked = asked or is_under_way(state.effects, EffectKind.DELETE_ATTEMPT_JOB, gone.name)
    uid = gone.uid or (known.uid if known is not None else "")
    return (AttemptJobVanished(at=gone.at, attempt=number, name=gone.name, uid=uid, asked=asked),)
