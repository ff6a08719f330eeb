"""An hour of one job by the rules alone: effects are answered at once, decisions come due.

Nothing else happens: whatever is asked for again and again is asked for by the rules themselves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, Protocol, TypeVar

from jobledger.core.decider import Decider
from jobledger.core.jobs.events import EffectRequested
from jobledger.core.jobs.observations import DecisionDue, EffectEnded
from jobledger.core.jobs.pending.decisions import PendingDecision
from jobledger.core.jobs.pending.effects import EffectKey, OpenEffect, Outcome
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import observation_id
from jobledger.core.values.instants import Instant
from tests.support.rows import STREAM

ENOUGH = 1000
"""So many events are too many: the hour need not be lived to its end."""
HOUR = timedelta(hours=1)
ANSWERED_IN = timedelta(milliseconds=20)
"""How quick an API server on the same machine refuses."""
TRIED_AGAIN_IN = timedelta(seconds=30)
"""How long whoever carries out waits after trouble that may pass, before it tells of more."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a try to act ends, rightly or wrongly."""

    outcome: Outcome
    uid: str = ""
    gone: bool = False
    trouble: str = "no"
    details: Manifest = field(default_factory=dict)


class Working(Protocol):
    """A state of any kind of job, as far as something is left to do in it."""

    @property
    def effects(self) -> tuple[OpenEffect, ...]: ...
    @property
    def decisions(self) -> tuple[PendingDecision, ...]: ...


State = TypeVar("State", bound=Working)
Event = TypeVar("Event")
Observation = TypeVar("Observation")
Told = Callable[[OpenEffect, int], Answer]
"""The answer to the n-th try of an effect."""


@dataclass
class Hour(Generic[State, Event, Observation]):
    """Lives through it."""

    decider: Decider[State, Event, Observation]
    state: State
    now: Instant
    answers: Told
    history: list[Event] = field(default_factory=list)
    asked: dict[EffectKey, list[Instant]] = field(default_factory=dict)
    """When each piece of work was asked for."""
    _tries: int = 0

    def live(self) -> None:
        """Answer and fire until the hour is over, or nothing is left to do."""
        end = self.now + HOUR
        ready: dict[object, Instant] = {}
        while self.now <= end and len(self.history) < ENOUGH:
            soon = self.now + ANSWERED_IN
            waiting = [(ready.get(one.effect_id, soon), one) for one in self.state.effects]
            due = [(item.due_at, item) for item in self.state.decisions]
            if not waiting and not due:
                return
            first = min([at for at, _ in waiting], default=None)
            fires = min(due, key=lambda one: one[0], default=None)
            if first is None or (fires is not None and fires[0] <= first):
                assert fires is not None, "one of them is there"
                self.now = max(self.now, fires[0]) + ANSWERED_IN
                self._fire(fires[1])
                continue
            self.now = max(self.now, first)
            effect = next(effect for at, effect in waiting if at == first)
            if self._answer(effect) is Outcome.FALTERED:
                ready[effect.effect_id] = self.now + TRIED_AGAIN_IN

    def _fire(self, decision: PendingDecision) -> None:
        mark = observation_id(STREAM, "due", str(decision.decision_id), self.now.isoformat())
        seen = DecisionDue(id=mark, at=self.now, decision_id=decision.decision_id, looked=True)
        self._take(seen)
        left = [item.decision_id for item in self.state.decisions]
        assert decision.decision_id not in left, f"{decision} has fired and is pending still"

    def _answer(self, effect: OpenEffect) -> Outcome:
        self._tries += 1
        answer = self.answers(effect, self._tries)
        ended = EffectEnded(
            id=observation_id(STREAM, "ended", str(effect.effect_id), str(self._tries)),
            at=self.now,
            effect_id=effect.effect_id,
            outcome=answer.outcome,
            trouble=answer.trouble,
            uid=answer.uid,
            gone=answer.gone,
            details=answer.details,
        )
        self._take(ended)
        return answer.outcome

    def _take(self, seen: object) -> None:
        news: Sequence[Event] = self.decider.news(self.state, seen)  # type: ignore[arg-type] # shared by both kinds
        for event in news:
            self.state = self.decider.evolve(self.state, event)
            if isinstance(event, EffectRequested):
                self.asked.setdefault((event.kind, event.name), []).append(self.now)
        self.history += news


def cycle(answers: Sequence[Answer]) -> Told:
    """Return answers that come one after the other, again and again."""
    return lambda _, number: answers[number % len(answers)]
