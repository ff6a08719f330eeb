"""Detects that the cluster knows more of a TrainJob than the log; takes over what is missing.

Signs are only what no crash of this controller can bring about: an event is appended before what
follows from it is shown. So no condition that was written here is newer than the log's. The JobSet
is no sign: it has one name, tells its own restarts, and applying it again changes nothing.
"""

from collections.abc import Iterator

from jobledger.core.jobs.control.lost_history import recovered
from jobledger.core.jobs.observations import Survey
from jobledger.core.trainjob.conditions import Condition, found, is_true
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.observations import TrainJobObservation, TrainJobSeen
from jobledger.core.trainjob.phases import CREATED, OURS, SUSPENDED
from jobledger.core.trainjob.state import TrainJobState, is_final
from jobledger.core.values.instants import rfc3339


def is_unknown_but_ours(seen: TrainJobSeen) -> bool:
    """Return whether a job of which the log knows nothing was driven by this controller."""
    return seen.written_here and not seen.recorded and seen.status.conditions != ()


def recovery(state: TrainJobState, observation: TrainJobObservation) -> tuple[TrainJobEvent, ...]:
    """Return that a held job is taken over (`lost_history.recovered`)."""
    if not isinstance(observation, TrainJobSeen):
        return ()
    return recovered(state, observation, doubt_about, is_final=is_final(state))


def doubt_about(state: TrainJobState, survey: Survey) -> str:
    """Return why a held job cannot be taken over by itself; empty if nothing is in doubt."""
    made = state.created_once or is_true(state.conditions, CREATED) or state.shown_jobs
    if made and not survey.there and not is_true(state.conditions, SUSPENDED):
        return "its JobSet was made by its status, and is gone"
    return ""


def signs(state: TrainJobState, seen: TrainJobSeen) -> Iterator[str]:
    """Yield what a status tells that the log does not know."""
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
