"""Events that follow from a change of a job's own object, whatever its kind."""

from typing import Protocol, TypeVar

from jobledger.core.jobs.events import AnnotationsRejected
from jobledger.core.jobs.manifest.shared_manifest import SharedManifest, SharedManifestSeen
from jobledger.core.jobs.outcomes import rejected
from jobledger.core.values.instants import Instant

Event = TypeVar("Event")
Event_co = TypeVar("Event_co", covariant=True)


class _DatedEvent(Protocol[Event_co]):
    def __call__(self, *, at: Instant) -> Event_co: ...


def manifest_changes(
    seen: SharedManifestSeen,
    known: SharedManifest,
    received: Event,
    deletion_started: _DatedEvent[Event],
) -> tuple[Event | AnnotationsRejected, ...]:
    """Return what is new about an object that was known otherwise: `received`, and what follows."""
    left_out = rejected(seen.at, seen.option_problems, known.option_problems)
    if seen.deleting_at is not None and known.deleting_at is None:
        return received, *left_out, deletion_started(at=seen.deleting_at)
    return received, *left_out
