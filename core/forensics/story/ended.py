"""Tells when a job ended, also of one that had ended before anybody here saw it."""

from collections.abc import Sequence
from datetime import timedelta

from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.forensics.story.account import Account, Sentence
from jobledger.core.forensics.story.circumstances import circumstances
from jobledger.core.forensics.story.quotes import in_short
from jobledger.core.kinds import NOTHING, evolve, kind_of
from jobledger.core.values.instants import rfc3339

SEEN_LATE = timedelta(minutes=1)
"""An end that is seen so much later is told with both instants."""


def ended_at(end: ReadEvent) -> str:
    """Return when a job ended, by its cluster, and when that was seen if it was seen late."""
    ended = getattr(end.event, "ended_at", end.occurred_at)
    is_late = end.occurred_at - ended >= SEEN_LATE
    return f"{rfc3339(ended)} (seen at {rfc3339(end.occurred_at)})" if is_late else rfc3339(ended)


def found_ended(name: str, events: Sequence[ReadEvent]) -> Account | None:
    """Return the account of a job that had ended before it was seen; None of any other.

    No event tells of its end: it was found with the status that another controller, or this one
    beside another ledger, had given it.
    """
    state = NOTHING
    for read in events:
        state = evolve(state, read.event)
        if state.manifest is not None and kind_of(state).is_final(state):
            break
    else:
        return None
    ended = state.ended_at
    at = f" at {rfc3339(ended)}" if ended is not None else ""
    has_failed = state.phase.value == "Failed"
    said = f" ({in_short(state.message)})" if state.message and has_failed else ""
    why = f": {state.reason}{said}" if state.reason and has_failed else ""
    how = "failed" if has_failed else "ended as Complete"
    text = f"{name} had {how}{at}, before it was first seen at {rfc3339(read.occurred_at)}{why}."
    rest = tuple(Sentence(text=said, versions=(seen,)) for said, seen in circumstances(events))
    return Account(
        outcome="failed" if has_failed else "complete",
        failure_class="",
        failure_group="",
        advice="",
        sentences=(Sentence(text=text, versions=(read.version,)), *rest),
    )
