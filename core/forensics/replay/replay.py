"""Compares what today's code decides with what was decided when the events were written.

A stream is cut into turns: the events that one observation brought. Before each turn the state is
folded from what is recorded; the observation is read from the turn's first event; and what today's
rules make of it is compared with what is recorded. A difference ends nothing: the fold goes on with
what was recorded, so that one changed rule is told once for each place it shows.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import fields

from jobledger.core.catalogue import NAMES, JobEvent, read_event
from jobledger.core.decider import Decided
from jobledger.core.kinds import NOTHING, JobState, decide, evolve
from jobledger.core.log.envelope import EventRecord
from jobledger.core.turns import observation_of
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import ObservationId


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one observation brought."""

    first_version: int
    cause: ObservationId
    events: tuple[JobEvent, ...]
    payload: Manifest
    """That of the first event, as it is stored: it carries the observation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """A turn that today's code would decide otherwise."""

    version: int
    """Version of the first event that differs."""
    recorded: str
    """What is recorded there; empty if nothing is."""
    decided: str
    """What would be decided; empty if nothing would."""
    fields: tuple[str, ...] = ()
    """Where the same event is decided with other values: which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What deciding a stream again has shown."""

    events: int
    turns: int
    divergences: tuple[Divergence, ...]
    unknown: tuple[Divergence, ...]
    """Turns whose first event carries no observation, so they were not decided."""

    @property
    def is_reproduced(self) -> bool:
        """Return whether every turn was decided again, and as before."""
        return not self.divergences and not self.unknown


def turns(records: Iterable[EventRecord]) -> Iterator[Turn]:
    """Yield the turns of a stream.

    Raises:
        UnknownEventType: an event was written by a newer version.
        BrokenChain: a payload is not one of its type.
    """
    gathered: list[EventRecord] = []
    for record in records:
        if gathered and gathered[0].causation_id != record.causation_id:
            yield _turn(gathered)
            gathered = []
        gathered.append(record)
    if gathered:
        yield _turn(gathered)


def _turn(gathered: Sequence[EventRecord]) -> Turn:
    return Turn(
        first_version=gathered[0].version,
        cause=ObservationId(gathered[0].causation_id),
        events=tuple(read_event(record) for record in gathered),
        payload=gathered[0].data,
    )


def replay(records: Iterable[EventRecord]) -> Replayed:
    """Decide a whole stream again. Raises as `turns` does."""
    state = NOTHING
    count = number = 0
    divergences: list[Divergence] = []
    unknown: list[Divergence] = []
    for turn in turns(records):
        number += 1
        count += len(turn.events)
        decided = decided_again(state, turn)
        if decided is not None and decided.events == turn.events:
            state = decided.state  # what the same events would be folded to
            continue
        if decided is None:
            unknown.append(_divergence(turn, 0, ()))
        else:
            divergences.append(_first(turn, decided.events))
        for event in turn.events:
            state = evolve(state, event)
    return Replayed(
        events=count, turns=number, divergences=tuple(divergences), unknown=tuple(unknown)
    )


def decided_again(state: JobState, turn: Turn) -> Decided[JobState, JobEvent] | None:
    """Return what today's rules make of a turn's observation; None if the turn carries none.

    Raises as `observation_of` does.
    """
    observation = observation_of(state, turn.events, turn.cause, turn.payload)
    return None if observation is None else decide(state, observation)


def _first(turn: Turn, decided: tuple[JobEvent, ...]) -> Divergence:
    """Return the first difference; one of both is longer, or they differ somewhere."""
    for index, (was, now) in enumerate(zip(turn.events, decided, strict=False)):
        if was != now:
            return _divergence(turn, index, decided)
    return _divergence(turn, min(len(turn.events), len(decided)), decided)


def _divergence(turn: Turn, index: int, decided: tuple[JobEvent, ...]) -> Divergence:
    was = turn.events[index] if index < len(turn.events) else None
    now = decided[index] if index < len(decided) else None
    changed: tuple[str, ...] = ()
    if was is not None and now is not None and type(was) is type(now):
        changed = tuple(
            f"{field.name}: {getattr(was, field.name)!r} -> {getattr(now, field.name)!r}"
            for field in fields(was)
            if getattr(was, field.name) != getattr(now, field.name)
        )
    return Divergence(
        version=turn.first_version + index,
        recorded=_name(was),
        decided=_name(now),
        fields=changed,
    )


def _name(event: JobEvent | None) -> str:
    return NAMES[type(event)] if event is not None else ""
