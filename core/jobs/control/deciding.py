"""Decides on an observation of a job of any kind: by its rules if the job is controlled here.

A job that is controlled here follows its rules until they have nothing to add. Of one that is only
recorded no rule is asked: what the controller in charge has decided is inferred instead.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar, get_args

from jobledger.core.decider import Decided, Decider, folded
from jobledger.core.jobs.events import ControlTaken
from jobledger.core.jobs.evolve.shared_state import SharedState
from jobledger.core.jobs.observations import AboutStatus, NothingNew
from jobledger.core.values.ids import ObservationId
from jobledger.core.values.instants import Instant


class _Seen(Protocol):
    @property
    def id(self) -> ObservationId: ...
    @property
    def at(self) -> Instant: ...


NOTHING_FOLLOWS = (*get_args(AboutStatus), NothingNew)
"""Observations of which no rule asks: they tell of this program's own work."""

State = TypeVar("State", bound=SharedState)
Seen = TypeVar("Seen", bound=_Seen)
Event = TypeVar("Event")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRules(Generic[State, Seen, Event]):
    """What is different about the decider of one kind of job."""

    evolve: Callable[[State, Event], State]
    facts: Callable[[State, Seen], tuple[Event, ...]]
    """What an observation tells that was not known."""
    reconcile: Callable[[State, ObservationId, Instant], Decided[State, Event]]
    """What follows here from a state, until nothing more does."""
    infer: Callable[[State, Instant], Decided[State, Event]]
    """What the other controller must have decided, by the status that it has shown last."""
    recovery: Callable[[State, Seen], tuple[Event, ...]]
    """How a job that the ledger had lost sight of is taken over; nothing while that is in doubt."""


def decider(
    initial: State, rules: DecisionRules[State, Seen, Event]
) -> Decider[State, Event, Seen]:
    """Return the decider that goes by `rules`."""
    return Decider(initial=initial, decide=partial(_decide, rules), evolve=rules.evolve)


def _decide(
    rules: DecisionRules[State, Seen, Event], state: State, observation: Seen
) -> Decided[State, Event]:
    """Return what happens because of `observation`; no events, if it brings no news."""
    facts = rules.facts(state, observation)
    is_surveyed = getattr(observation, "survey", None) is not None
    if not facts and not is_surveyed:
        return Decided(state)
    cause, at = observation.id, observation.at
    so_far = _with_conclusions(rules, state, facts, at)
    if so_far.state.recorded is None:
        if isinstance(observation, NOTHING_FOLLOWS):
            return so_far
        return so_far.then(rules.reconcile(so_far.state, cause, at))
    if state.recorded is None:  # what was under way when control was given up is dropped, once
        so_far = so_far.then(rules.reconcile(so_far.state, cause, at))
    so_far = so_far.then(rules.infer(so_far.state, at))
    recovered = rules.recovery(so_far.state, observation)
    if not recovered:
        return so_far
    so_far = so_far.then(folded(so_far.state, recovered, rules.evolve))
    return so_far.then(rules.reconcile(so_far.state, cause, at))


def _with_conclusions(
    rules: DecisionRules[State, Seen, Event], state: State, facts: Iterable[Event], at: Instant
) -> Decided[State, Event]:
    """Return facts, and before control is taken what the other's last status lets conclude.

    The job goes on from where that controller has left it.
    """
    so_far: Decided[State, Event] = Decided(state)
    for fact in facts:
        if isinstance(fact, ControlTaken):
            so_far = so_far.then(rules.infer(so_far.state, at))
        so_far = so_far.then(folded(so_far.state, (fact,), rules.evolve))
    return so_far
