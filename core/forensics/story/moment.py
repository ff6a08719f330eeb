"""The state of a job at an instant: what was true then, and what the controller knew then.

What was true is what the events say that occurred by then, whenever they were written down. What
was known is what was written down by then. Beside both stands when each part of what was known had
been confirmed last: since then it may have changed unseen.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow
from jobledger.core.kinds import part_of
from jobledger.core.projections.view import View, advance
from jobledger.core.values.instants import Instant

VERSION_DIGITS_MAX = 9
"""Digits of a version; a number with more is none of any job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A job as some of its events tell it."""

    version: int
    """Last version that it rests on; 0: nothing was known of the job."""
    job: JobRow | None = None
    attempts: tuple[AttemptRow, ...] = ()
    pending: tuple[DecisionRow, ...] = ()
    """What had been resolved and was still to come."""
    under_way: tuple[EffectRow, ...] = ()
    """What had been asked for and had not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartKnown:
    """When a part of what was known had been seen, and seen unchanged, last."""

    part: str
    version: int
    """The event that told of it last."""
    changed_at: Instant
    """When it was seen to have changed last."""
    confirmed_at: Instant
    """When it was seen last, changed or not."""
    maybe_stale_since: Instant | None = None
    """Since when changes of it may have been missed, if a watch was interrupted after that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A job at an instant."""

    at: Instant
    true: Picture
    known: Picture
    parts: tuple[PartKnown, ...]
    not_known: tuple[int, ...]
    """Versions of what was true by then and was written down later."""


def at_instant(events: Sequence[ReadEvent], at: Instant) -> Moment:
    """Return the job as it was, and as it was known, at an instant."""
    return _moment(at, _occurred(events, at), _recorded(events, at))


def version_in(text: str) -> int | None:
    """Return the version that a text is; None if it is none, but an instant say."""
    is_one = text.isascii() and text.isdecimal() and len(text) <= VERSION_DIGITS_MAX
    return int(text) if is_one else None


def at_version(events: Sequence[ReadEvent], version: int) -> Moment:
    """Return the job when the event of a version had just been written down.

    Raises:
        IndexError: there is no such version.
    """
    if not 1 <= version <= len(events):
        raise IndexError(f"the versions of this job are 1 to {len(events)}")
    at = events[version - 1].recorded_at
    return _moment(at, _occurred(events, at), events[:version])


def _occurred(events: Sequence[ReadEvent], at: Instant) -> Sequence[ReadEvent]:
    """Return what had occurred by an instant.

    Who the job is, its first event tells; of one that was found under way or over, what is told
    of it after that occurred before, and it was this job then.
    """
    occurred = [read for read in events if read.occurred_at <= at]
    return occurred if not occurred or occurred[0] is events[0] else [events[0], *occurred]


def _recorded(events: Sequence[ReadEvent], at: Instant) -> Sequence[ReadEvent]:
    """Return what had been written down by an instant.

    That is written down in the order of versions, whatever a clock said that was set back, or was
    another's: with an event was known what stands before it.
    """
    last = max((read.version for read in events if read.recorded_at <= at), default=0)
    return events[:last]


def _moment(at: Instant, occurred: Sequence[ReadEvent], recorded: Sequence[ReadEvent]) -> Moment:
    known = {read.version for read in recorded}
    return Moment(
        at=at,
        true=_picture(occurred),
        known=_picture(recorded),
        parts=tuple(_parts(recorded, at)),
        not_known=tuple(read.version for read in occurred if read.version not in known),
    )


def _picture(events: Sequence[ReadEvent]) -> Picture:
    if not events:
        return Picture(version=0)
    view, rows = advance(View(), (read.event for read in events))
    return Picture(
        version=events[-1].version,
        job=rows.job,
        attempts=rows.attempts,
        pending=view.decisions,
        under_way=view.effects,
    )


def _parts(events: Iterable[ReadEvent], at: Instant) -> Iterator[PartKnown]:
    """Yield what was known of each part and how fresh it was."""
    seen: dict[str, PartKnown] = {}
    gaps: dict[str, Instant] = {}
    for read in events:
        event = read.event
        if isinstance(event, shared.ObservationsConfirmed):
            for item in event.sources:
                _confirm(seen, item.source, read.version, min(item.last_at, at))
        elif isinstance(event, shared.ObservationGapFound):
            gaps[event.source] = event.since
        elif (part := part_of(event)) is not None:
            gaps.pop(part, None)
            seen[part] = PartKnown(
                part=part,
                version=read.version,
                changed_at=event.at,
                confirmed_at=event.at,
            )
    for part in sorted(seen):
        known = seen[part]
        yield PartKnown(
            part=part,
            version=known.version,
            changed_at=known.changed_at,
            confirmed_at=known.confirmed_at,
            maybe_stale_since=gaps.get(part),
        )


def _confirm(seen: dict[str, PartKnown], part: str, version: int, at: Instant) -> None:
    known = seen.get(part)
    if known is None:
        seen[part] = PartKnown(part=part, version=version, changed_at=at, confirmed_at=at)
    elif known.confirmed_at < at:
        seen[part] = PartKnown(
            part=part, version=version, changed_at=known.changed_at, confirmed_at=at
        )
