"""Sentences about what a job went on under: control, gaps, recovery, annotations left out.

And about when it ended, where it had before anybody saw it.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.forensics.story.account import Account, Sentence
from jobledger.core.forensics.story.quotes import in_short
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs import events as shared
from jobledger.core.kinds import NOTHING, ROLES, evolve, kind_of
from jobledger.core.values.instants import rfc3339

SEEN_LATE = timedelta(minutes=1)
"""An end that is seen so much later is told with both instants."""

_TOLD: tuple[type, ...] = (
    *ROLES.adopted,
    *ROLES.transitions_missed,
    shared.ControlReleased,
    shared.LedgerBehindFound,
    shared.RecoveredFromCluster,
    shared.ControlTaken,
    shared.AnnotationsRejected,
)


def circumstances(events: Iterable[ReadEvent]) -> Iterator[tuple[str, int]]:
    """Yield sentences, each with the version of the event that says so."""
    for read in events:
        event = read.event
        if not isinstance(event, _TOLD):
            continue
        at = rfc3339(read.occurred_at)
        if isinstance(event, ROLES.adopted):
            found = in_words(event).partition(";")[0]
            yield (
                f"What had happened before {at} was not seen; the job was {found}.",
                read.version,
            )
        elif isinstance(event, ROLES.transitions_missed):
            yield f"Not everything was seen: {in_words(event)}.", read.version
        elif isinstance(event, shared.ControlReleased):
            inferred = "what another controller decided is inferred from what it did"
            yield f"From {at} on it was only recorded ({event.why}): {inferred}.", read.version
        elif isinstance(event, shared.LedgerBehindFound):
            signs = "; ".join(event.signs)
            yield f"At {at} the ledger was found older than the cluster ({signs}).", read.version
        elif isinstance(event, shared.RecoveredFromCluster):
            since = rfc3339(event.behind_since)
            lost = "what the log had lost stays lost, and what the cluster showed is inferred"
            yield f"From {since} until {at} it was held: {lost}.", read.version
        elif isinstance(event, shared.ControlTaken):
            yield f"From {at} on it was controlled here.", read.version
        else:
            yield f"At {at} its user was told: {in_words(event)}.", read.version


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
