"""A job changes hands: between this controller and one whose actions are only recorded."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from jobledger.core.jobs.events import ControlReleased, ControlTaken
from jobledger.core.values.instants import Instant

State = TypeVar("State")
Event = TypeVar("Event")


def control_change(
    since: Instant | None, why: str, told: str, at: Instant
) -> tuple[ControlReleased | ControlTaken, ...]:
    """Return that control is taken or released, if that is news.

    `since` and `why` say since when and why the job has been only recorded (None: it is not),
    `told` why it is to be recorded from now on (empty: it is not). That it is recorded for another
    reason than before is no news.
    """
    if since is None and told:
        return (ControlReleased(at=at, why=told),)
    if since is not None and not told:
        return (ControlTaken(at=at, recorded_since=since, recorded_because=why),)
    return ()


def facts_and_conclusions(
    state: State,
    facts: Iterable[Event],
    evolve: Callable[[State, Event], State],
    infer: Callable[[State], tuple[Event, ...]],
) -> tuple[State, tuple[Event, ...]]:
    """Return the state after facts and all events that led there.

    Before control is taken everything is concluded that the other controller's last status tells:
    the job goes on from where that one left it.
    """
    told: list[Event] = []
    for fact in facts:
        before = infer(state) if isinstance(fact, ControlTaken) else ()
        for event in (*before, fact):
            state = evolve(state, event)
            told.append(event)
    return state, tuple(told)
