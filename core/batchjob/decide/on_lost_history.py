"""Detects that the cluster knows more of a Job than the log; takes over what is missing.

Signs are only what no crash of this controller can bring about: an event is appended before what
follows from it is shown or made. So no end and no failed Pod in a status that was written here is
unknown to the log, and no Job is there for an attempt that it does not know.
"""

from collections.abc import Iterator

from jobledger.core.batchjob.events import BatchAttemptEnded, BatchAttemptStarted, BatchJobEvent
from jobledger.core.batchjob.names import attempt_of
from jobledger.core.batchjob.observations import BatchJobObservation, BatchJobSeen
from jobledger.core.batchjob.state import BatchJobState, is_final, name_for
from jobledger.core.jobs.control.lost_history import recovered
from jobledger.core.jobs.observations import Survey
from jobledger.core.values.instants import Instant, rfc3339


def signs(state: BatchJobState, seen: BatchJobSeen) -> Iterator[str]:
    """Yield what a status tells that the log does not know."""
    shown = seen.status
    if shown.end is not None and state.end is None:
        word = "Complete" if shown.end.completed else "Failed"
        yield f"the status shows {word}, and the log knows no end"
    elif shown.failing is not None and state.failing is None and state.end is None:
        yield "the status shows FailureTarget, and the log knows nothing of it"
    if shown.started_at is not None and state.started_at is None:
        yield "the status shows a start, and the log knows no attempt"
    elif shown.started_at is not None and not _is_start(state, shown.started_at):
        yield "the status shows another start than the log knows"
    known = state.pods_failed_min
    if shown.pods.failed > known:
        yield f"the status shows {shown.pods.failed} failed Pods, and the log knows {known}"


def _is_start(state: BatchJobState, shown: Instant) -> bool:
    """Return whether a start that is shown, in whole seconds, is the one that the log knows."""
    return state.started_at is not None and rfc3339(state.started_at) == rfc3339(shown)


def recovery(state: BatchJobState, observation: BatchJobObservation) -> tuple[BatchJobEvent, ...]:
    """Return that a held job is taken over (`lost_history.recovered`).

    Whose attempt a Job is follows from its name.
    """
    if not isinstance(observation, BatchJobSeen):
        return ()
    taken_over = recovered(state, observation, doubt_about, is_final=is_final(state))
    there = taken_over[0].there if taken_over else ()
    return *_attempt_that_is_there(state, there, observation.at), *taken_over


def doubt_about(state: BatchJobState, survey: Survey) -> str:
    """Return why a held job cannot be taken over by itself; empty if nothing is in doubt."""
    is_between = state.attempt is not None and state.attempt.is_over
    if state.started_at is not None and not survey.there and not is_between:
        return "an attempt had begun by its status or the log, and no Job of it is there"
    return ""


def _attempt_that_is_there(
    state: BatchJobState, there: tuple[str, ...], at: Instant
) -> tuple[BatchJobEvent, ...]:
    """Return that the attempt goes on whose Job is there, if the log does not know it."""
    identity = state.identity
    if identity is None or is_final(state):
        return ()
    number = max((attempt_of(identity.name, identity.uid, name) for name in there), default=0)
    return begun_unseen(state, number, at)


def begun_unseen(state: BatchJobState, number: int, at: Instant) -> tuple[BatchJobEvent, ...]:
    """Return that a later attempt has begun than is known; how those before ended is not known."""
    attempt = state.attempt
    if number == 0 or (attempt is not None and attempt.number >= number):
        return ()
    over: tuple[BatchJobEvent, ...] = ()
    if attempt is not None and not attempt.is_over:
        over = (BatchAttemptEnded(at=at, attempt=attempt.number, outcome="unknown", inferred=True),)
    begun = BatchAttemptStarted(
        at=at,
        attempt=number,
        generation=state.manifest.generation if state.manifest is not None else 0,
        job_name=name_for(state, number),
        inferred=True,
    )
    return *over, begun
