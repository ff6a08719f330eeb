"""The interface that the decider of every kind of job implements.

`decide(state, observation) -> events`, `evolve(state, event) -> state`.

Two laws hold for every decider and are checked on every row of every rule table:
the same observation again brings nothing; the state is the fold of the log.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

State = TypeVar("State")
Event = TypeVar("Event")
Observation = TypeVar("Observation")


@dataclass(frozen=True, slots=True)
class Decider(Generic[State, Event, Observation]):
    """How one kind of job thinks. Pure: no clock, no dice, no I/O."""

    initial: State
    decide: Callable[[State, Observation], tuple[Event, ...]]
    """What happens because of an observation; nothing, if it brings no news."""
    evolve: Callable[[State, Event], State]
    """The state after an event; total, never raises on an event that was once written."""

    def fold(self, events: Iterable[Event]) -> State:
        """Return the state that a whole history of events adds up to."""
        state = self.initial
        for event in events:
            state = self.evolve(state, event)
        return state
