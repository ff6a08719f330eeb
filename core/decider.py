"""The interface that the decider of every kind of job implements.

`decide(state, observation) -> events and the state after each`, `evolve(state, event) -> state`.

Two laws hold for every decider and are checked on every row of every rule table:
the same observation again brings nothing; the state is the fold of the log.
"""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from msgspec import Struct

State = TypeVar("State")
Event = TypeVar("Event")
Observation = TypeVar("Observation")
State_co = TypeVar("State_co", covariant=True)
Event_co = TypeVar("Event_co", covariant=True)


class Decided(Struct, Generic[State_co, Event_co], frozen=True):
    """What an observation brought: the events in order, each with the state after it.

    The rules fold each event to go on, so whoever appends the events need not fold them again.
    """

    before: State_co
    events: tuple[Event_co, ...] = ()
    """Empty: the observation is no news."""
    states: tuple[State_co, ...] = ()
    """As many as there are events."""

    @property
    def state(self) -> State_co:
        """Return the state after all events."""
        return self.states[-1] if self.states else self.before

    def then(self, later: "Decided[State_co, Event_co]") -> "Decided[State_co, Event_co]":
        """Return these events with those that were decided on the state after them."""
        if not later.events:
            return self
        return Decided(self.before, self.events + later.events, self.states + later.states)


def folded(
    state: State, events: Iterable[Event], evolve: Callable[[State, Event], State]
) -> Decided[State, Event]:
    """Return events with the state after each of them, from `state` on."""
    before, told, states = state, tuple(events), list[State]()
    for event in told:
        state = evolve(state, event)
        states.append(state)
    return Decided(before, told, tuple(states))


class Decider(Struct, Generic[State, Event, Observation], frozen=True):
    """How one kind of job thinks. Pure: no clock, no dice, no I/O."""

    initial: State
    decide: Callable[[State, Observation], Decided[State, Event]]
    """What happens because of an observation; no events, if it brings no news."""
    evolve: Callable[[State, Event], State]
    """The state after an event; total, never raises on an event that was once written."""

    def news(self, state: State, observation: Observation) -> tuple[Event, ...]:
        """Return the events of `decide` alone."""
        return self.decide(state, observation).events

    def fold(self, events: Iterable[Event]) -> State:
        """Return the state that a whole history of events adds up to."""
        state = self.initial
        for event in events:
            state = self.evolve(state, event)
        return state
