"""The questions about an observation that are answered before anything is decided on it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

State = TypeVar("State")
Observation = TypeVar("Observation")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationRules(Generic[State, Observation]):
    """What observations of a kind mean before they are decided on."""

    subject: Callable[[Observation], tuple[object, ...] | None]
    """What a look is at, where a later look at the same makes it worth nothing; None: never."""
    marks: Callable[[Observation], frozenset[str]]
    """Names and UIDs by which the object of the job's is known that is looked at; empty: none is.

    Whoever may create objects in a namespace may give any number of them the job for a controller.
    """
    known_marks: Callable[[State], frozenset[str]]
    """Names and UIDs of the objects that a job's state knows, or waits for."""
    reopens: Callable[[Observation, str], bool]
    """Whether one, besides the look at the job itself, can mean something to a job that is over;
    the second is what `kept` returned of it."""
    kept: Callable[[State], str] = lambda _: ""
    """UID of the object that is still there once a job is over, and of which only the end is news
    from then on; empty: none is."""
    shows_end: Callable[[Observation], bool]
    """Whether the look at the job itself has the status of a job that has ended."""
    turning_points: tuple[type, ...]
    """Observations that may end an attempt or a job: with them ends the sum of what was seen."""
    may_be_old: Callable[[Observation], bool]
    """Whether the look at the job itself shows nothing, or what was written here: a watch that
    lags may show it so although the job has gone on since."""
