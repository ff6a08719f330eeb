"""The timeline of a job: one line per event in plain words, with the number of its attempt."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jobledger.core.catalogue import NAMES, JobEvent
from jobledger.core.kinds import ROLES, words
from jobledger.core.values.excerpts import gist
from jobledger.core.values.instants import Instant
from jobledger.core.values.visible_text import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One event of the story."""

    version: int
    at: Instant
    attempt: int
    """0 before the first."""
    event: str
    """Its stored name."""
    words: str


LINE_MAX = 240
"""Characters of an event's words where a line of a story has to be looked over."""


QUIET = frozenset(
    {"EffectRequested", "StatusPublished", "ObservationsConfirmed", "SubmitterObserved"}
)
"""Events that a story leaves out unless all are asked for: they only confirm or announce."""


def timeline(
    events: Iterable[tuple[int, JobEvent]], limit: int | None = LINE_MAX
) -> Iterator[Line]:
    """Yield the story of a stream, from pairs of version and event; None: no words are cut."""
    attempt = 0
    for version, event in events:
        if isinstance(event, ROLES.attempt_started):
            attempt = event.attempt
        yield Line(
            version=version,
            at=event.at,
            attempt=attempt,
            event=NAMES[type(event)],
            words=in_words(event, limit),
        )


def in_words(event: JobEvent, limit: int | None = LINE_MAX) -> str:
    """Return what an event says, in one line; with a mark, if it was inferred.

    Of words longer than `limit` characters the beginning is kept and the line that tells most.
    """
    said = words(event)
    inferred = getattr(event, "inferred", False)
    if inferred:
        why = f": {inferred}" if isinstance(inferred, str) else ""
        said = f"{said} (inferred{why})"
    return one_line(said if limit is None else gist(said, limit))
