"""Sentences about what a job went on under: control, gaps, recovery, annotations left out."""

from collections.abc import Iterable, Iterator

from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs import events as shared
from jobledger.core.kinds import ROLES
from jobledger.core.values.instants import rfc3339

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
