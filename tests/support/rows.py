"""Rule tables: a row is a rule in a sentence, held against the decider and against its laws.

A *story* is what had happened before: observations, played through the decider, and events, folded
as they are. Where a step needs the id of an effect or a decision it is a function of the state.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar, cast
from uuid import UUID

import pytest
from msgspec.structs import replace

from jobledger.core.batchjob.events import BatchJobAdopted, BatchJobCompleted, BatchJobFailed
from jobledger.core.batchjob.phases import FOLLOWERS as BATCH_FOLLOWERS
from jobledger.core.batchjob.phases import Phase as BatchJobPhase
from jobledger.core.catalogue import NAMES, SCHEMA_VERSION, JobEvent, read_event
from jobledger.core.decider import Decided, Decider, folded
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.control.deciding import NOTHING_FOLLOWS
from jobledger.core.kinds import JobState
from jobledger.core.log.chain import GENESIS, first_fault
from jobledger.core.log.recording import NamedEvent, Tail, Writer, record
from jobledger.core.projections.view import View, advance
from jobledger.core.rayjob.events.lifecycle import (
    JobAdopted,
    JobCompleted,
    JobFailed,
    JobSuspended,
    RayJobEvent,
    TransitionsMissed,
)
from jobledger.core.rayjob.observations.observations import RayJobObservation
from jobledger.core.rayjob.phases import FOLLOWERS
from jobledger.core.rayjob.phases import Phase as RayJobPhase
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.rayjob.status.status import status
from jobledger.core.trainjob.events import TrainJobAdopted
from jobledger.core.trainjob.phases import FOLLOWERS as TRAIN_FOLLOWERS
from jobledger.core.trainjob.phases import Phase as TrainJobPhase
from jobledger.core.values.documents import Json
from jobledger.core.values.ids import (
    DecisionId,
    EffectId,
    ObservationId,
    decision_id_of,
    effect_id_of,
    observation_id,
)
from jobledger.core.values.instants import Instant
from tests.support.observed import assert_kept_as_it_came
from tests.support.records import NOON, a_stream

STREAM = a_stream("train")

WHEN: Instant = datetime.min.replace(tzinfo=UTC)
"""In `then`: the instant of the observation `when`."""

THIS_EFFECT = EffectId(UUID(int=0))
"""In `then`: the id that follows from the rule of `core.values.ids`, or that of the open effect."""

THIS_DECISION = DecisionId(UUID(int=0))
"""In `then`: likewise for decisions."""

State = TypeVar("State", bound=JobState)
Event = TypeVar("Event", bound=JobEvent)
Observation = TypeVar("Observation")

RayJobDecider: TypeAlias = Decider[RayJobState, RayJobEvent, RayJobObservation]
Reply: TypeAlias = Callable[[RayJobState], RayJobObservation]
"""An observation about an effect or decision, whose id the state knows."""
When: TypeAlias = RayJobObservation | Reply
Step: TypeAlias = RayJobEvent | When


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A rule: after this story, this observation brings exactly these events."""

    rule: str
    given: Sequence[Step] = ()
    when: When
    then: Sequence[RayJobEvent] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """A rule about where a whole story leads. What is None is not asked."""

    rule: str
    story: Sequence[Step]
    status: Mapping[str, Json] | None = None
    """Fields of the projected status; None as a value: the field is not shown."""
    under_way: Sequence[str] | None = None
    """Open effects as `kind name`."""
    pending: Mapping[str, float] | None = None
    """Pending decisions: kind -> seconds after noon."""
    said: Sequence[type] | None = None
    """Classes of the events that the last step brought."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """Fields of the state."""


def table(*rows: Row | Outlook) -> pytest.MarkDecorator:
    """Return the parametrisation of a test by rows, named by their rules."""
    assert len({row.rule for row in rows}) == len(rows), "two rows state the same rule"
    return pytest.mark.parametrize("row", rows, ids=[row.rule for row in rows])


NOTHING_YET: Decided[RayJobState, RayJobEvent] = Decided(RayJobState())


@dataclass(slots=True)
class Played:
    """A story so far."""

    decider: RayJobDecider
    state: RayJobState
    history: list[RayJobEvent] = field(default_factory=list)
    news: tuple[RayJobEvent, ...] = ()
    """What the last step brought."""
    decided: Decided[RayJobState, RayJobEvent] = NOTHING_YET
    """The same with the states after it."""

    def take(self, step: Step) -> None:
        """Play one more step: decide and fold, and hold it against the laws."""
        if isinstance(step, tuple(NAMES)):
            self.news = (step,)  # type: ignore[assignment] # NAMES are the classes of RayJobEvent
            self.history += self.news
            self.state = self.decider.fold(self.history)
            return
        seen = self.observed(step)
        before = self.state
        self.decided = decided = self.decider.decide(self.state, seen)
        self.news = decided.events
        self.history += self.news
        self.state = decided.state
        assert decided.states == folded(decided.before, self.news, self.decider.evolve).states
        assert_kept_as_it_came(seen, decided)
        if not isinstance(seen, NOTHING_FOLLOWS):
            noted = replace(before, published="7", unwritten_since=WHEN, confirmed_at=WHEN)
            assert self.decider.news(noted, seen) == self.news, "it depends on its own notes"
        again = self.decider.news(self.state, seen)
        assert again == (), f"the same observation again brought {again}"

    def observed(self, step: Step) -> RayJobObservation:
        """Return the observation that a step is in the present state."""
        return step(self.state) if callable(step) else step  # type: ignore[return-value] # no event


def play(decider: RayJobDecider, story: Iterable[Step]) -> Played:
    """Return what a story leads to."""
    played = Played(decider, decider.initial)
    for step in story:
        played.take(step)
    return played


def check(decider: RayJobDecider, row: Row) -> None:
    """Hold a row against the decider: equality of all events, and the laws."""
    played = play(decider, row.given)
    before, known = played.state, len(played.history)
    seen = played.observed(row.when)
    expected = [resolved(event, before, seen.id, seen.at) for event in row.then]
    played.take(seen)
    assert list(played.news) == expected
    check_laws(decider, played.history, known)


def check_outlook(decider: RayJobDecider, row: Outlook) -> None:
    """Hold where a story leads against what the row says of it, and against the laws."""
    played = play(decider, row.story)
    state = played.state
    if row.status is not None:
        shown = status(state)
        assert {name: shown.get(name) for name in row.status} == dict(row.status)
    if row.under_way is not None:
        under_way = [f"{effect.desired.kind} {effect.desired.name}" for effect in state.effects]
        assert under_way == list(row.under_way)
    if row.pending is not None:
        pending = {item.kind.value: item.due_at for item in state.decisions}
        seconds = {kind: (due - NOON).total_seconds() for kind, due in pending.items()}
        assert seconds == dict(row.pending)
    if row.said is not None:
        assert [type(event) for event in played.news] == list(row.said)
    assert {name: getattr(state, name) for name in row.facts} == dict(row.facts)
    check_laws(decider, played.history, 0)


def resolved(event: Event, before: JobState, cause: ObservationId, at: Instant) -> Event:
    """Return an event of `then` with the instant and the ids that it leaves to the rules."""
    if event.at is WHEN:
        event = replace(event, at=at)
    if getattr(event, "effect_id", None) == THIS_EFFECT:
        event = _with_effect(event, before, cause)
    if getattr(event, "decision_id", None) == THIS_DECISION:
        event = _with_decision(event, before, cause)
    return event


def _with_effect(event: Event, before: JobState, cause: ObservationId) -> Event:
    if isinstance(event, shared.EffectRequested):
        return replace(event, effect_id=effect_id_of(cause, event.kind.value, event.name))
    kind, name = getattr(event, "kind", None), getattr(event, "name", None)
    found = [item.effect_id for item in before.effects if item.desired.key == (kind, name)]
    assert len(found) == 1, f"the story leaves {len(found)} effects {kind} {name} open"
    return replace(event, effect_id=found[0])


def _with_decision(event: Event, before: JobState, cause: ObservationId) -> Event:
    if isinstance(event, shared.DecisionScheduled):
        return replace(event, decision_id=decision_id_of(cause, event.kind.value, event.subject))
    kind = getattr(event, "kind", None)
    found = [item.decision_id for item in before.decisions if item.kind is kind]
    assert len(found) == 1, f"the story leaves {len(found)} decisions {kind} pending"
    return replace(event, decision_id=found[0])


def check_laws(
    decider: Decider[State, Event, Observation], history: Sequence[Event], known: int
) -> None:
    """Hold a history against what is true of every history; `known` events were there before."""
    check_phases(decider, history)
    stored = through_the_log(history)
    assert stored == list(history), "events do not survive the log"
    if history and decider.fold(history[:1]).identity is not None:
        check_projections(decider, history, known)


def _is_leap(event: JobEvent) -> bool:
    """Return whether an event tells where a job stands, and not how it got there."""
    unseen = isinstance(event, JobSuspended) and event.attempt == 0
    ends = (JobCompleted, JobFailed, BatchJobCompleted, BatchJobFailed)
    ended = isinstance(event, ends) and event.inferred  # nobody saw the way
    found = (JobAdopted, TransitionsMissed, TrainJobAdopted, BatchJobAdopted)
    return unseen or ended or isinstance(event, found)


_FOLLOWERS: Mapping[type, Mapping[Any, Iterable[str]]] = {
    RayJobPhase: FOLLOWERS,
    TrainJobPhase: TRAIN_FOLLOWERS,
    BatchJobPhase: BATCH_FOLLOWERS,
}
"""Phases of a kind of job -> which may come next."""


def check_phases(decider: Decider[State, Event, Observation], history: Iterable[Event]) -> None:
    """Check that phases only step along `FOLLOWERS`; taking over may begin anywhere."""
    state = decider.initial
    for event in history:
        after = decider.evolve(state, event)
        stepped = after.phase is not state.phase and not _is_leap(event)
        if stepped:
            step = f"{state.phase!r} -> {after.phase!r} by {type(event).__name__}"
            assert after.phase in _followers(state), step
        state = after


def _followers(state: JobState) -> Iterable[str]:
    """Return the phases that may come next."""
    known: Mapping[object, Iterable[str]] = _FOLLOWERS[type(state.phase)]
    return known[state.phase]


def through_the_log(history: Sequence[Event]) -> list[Event]:
    """Return the events as they come back: recorded, hashed, as JSON, read by the catalogue."""
    events: Sequence[JobEvent] = history
    named = [
        NamedEvent(name=NAMES[type(e)], schema_version=SCHEMA_VERSION, at=e.at, event=e)
        for e in events
    ]
    tail = Tail(stream_id=STREAM, version=0, chain=GENESIS)
    writer = Writer(actor="jobledger-0", epoch=1, now=NOON)
    records, _ = record(tail, writer, observation_id(STREAM, "a row"), named)
    assert first_fault(GENESIS, records) is None
    read = [read_event(item) for item in records]
    return cast("list[Event]", read)


def check_projections(
    decider: Decider[State, Event, Observation], history: Sequence[Event], known: int
) -> None:
    """Check that a writer who goes on from `known` events gets what a rebuild from none gets."""
    whole, rows = advance(View(), history)
    assert whole.state == decider.fold(history)
    if 0 < known < len(history):
        earlier, _ = advance(View(), history[:known])
        later, changes = advance(earlier, history[known:])
        assert later == whole
        assert changes.job == rows.job
        assert set(changes.attempts) <= set(rows.attempts)
        assert set(changes.decisions) <= set(rows.decisions)
        assert set(changes.effects) <= set(rows.effects)
