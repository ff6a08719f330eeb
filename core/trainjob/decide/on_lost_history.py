"""Detects that the cluster knows more of a TrainJob than the log; takes over what is missing.

Signs are only what no crash of this controller can bring about: an event is appended before what
follows from it is shown. So no condition that was written here is newer than the log's. The JobSet
is no sign: it has one name, tells its own restarts, and applying it again changes nothing.
"""

from collections.abc import Iterator

from jobledger.core.jobs.control.dormancy import is_leaving
from jobledger.core.jobs.control.lost_history import UNKNOWN_JOB, mark_of
from jobledger.core.jobs.events import LedgerBehindFound, RecoveredFromCluster
from jobledger.core.jobs.observations import Survey
from jobledger.core.trainjob.conditions import Condition, found, is_true
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.observations import TrainJobObservation, TrainJobSeen
from jobledger.core.trainjob.phases import CREATED, OURS, SUSPENDED
from jobledger.core.trainjob.state import (
    TrainJobState,
    is_final,
)
from jobledger.core.values.instants import rfc3339


def is_unknown_but_ours(seen: TrainJobSeen) -> bool:
    """Return whether a job of which the log knows nothing was driven by this controller."""
    return seen.written_here and not seen.recorded and seen.status.conditions != ()


def behind_by_status(state: TrainJobState, seen: TrainJobSeen) -> tuple[LedgerBehindFound, ...]:
    """Return that the log is behind a status that was written here; nothing if it is not."""
    if not seen.written_here or seen.recorded or state.recorded is not None or is_final(state):
        return ()
    signs = tuple(_signs(state, seen))
    return (LedgerBehindFound(at=seen.at, signs=signs),) if signs else ()


def is_ahead(state: TrainJobState, seen: TrainJobSeen) -> bool:
    """Return whether a status that was written here tells of more than the log knows."""
    return any(True for _ in _signs(state, seen))


def unknown_job(seen: TrainJobSeen) -> LedgerBehindFound:
    """Return that the log has lost a job as a whole."""
    return LedgerBehindFound(at=seen.at, signs=(UNKNOWN_JOB,))


def recovery(state: TrainJobState, observation: TrainJobObservation) -> tuple[TrainJobEvent, ...]:
    """Return that a held job is taken over; nothing while that is in doubt and nobody asks for it.

    `state` has drawn all conclusions from the status. A job that has ended stays ended, whatever
    is there. Any other waits for a survey, as only that shows what is there now; one that is being
    deleted goes then.
    """
    held = state.recorded
    if held is None or not held.behind or not isinstance(observation, TrainJobSeen):
        return ()
    survey, asked = observation.survey, ""
    if survey is None and not is_final(state):
        return ()
    goes_on = not is_final(state) and not is_leaving(state)
    if survey is not None and goes_on and doubt_about(state, survey):
        if observation.recover != mark_of(held.since):
            return ()
        asked = observation.recover
    recovered = RecoveredFromCluster(
        at=observation.at,
        behind_since=held.since,
        there=survey.there if survey is not None else (),
        is_surveyed=survey is not None,
        asked=asked,
    )
    return (recovered,)


def doubt_about(state: TrainJobState, survey: Survey) -> str:
    """Return why a held job cannot be taken over by itself; empty if nothing is in doubt."""
    made = state.created_once or is_true(state.conditions, CREATED) or state.shown_jobs
    if made and not survey.there and not is_true(state.conditions, SUSPENDED):
        return "its JobSet was made by its status, and is gone"
    return ""


def _signs(state: TrainJobState, seen: TrainJobSeen) -> Iterator[str]:
    for shown in seen.status.conditions:
        known = found(state.conditions, shown.type)
        if shown.type not in OURS or (known is None and not shown.is_true):
            continue
        if known is None:
            yield f"the status shows {_words(shown)}, and the log knows no such condition"
        elif known.is_true is not shown.is_true and rfc3339(shown.since) > rfc3339(known.since):
            yield f"the status shows {_words(shown)}, and the log {_words(known)}"


def _words(condition: Condition) -> str:
    return f"{condition.type}={condition.is_true} since {rfc3339(condition.since)}"
