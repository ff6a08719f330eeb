"""What follows once events are in the log: effects, statuses, polls, alarms, Kubernetes Events.

Called by the turn for every job whose events were appended, and for every open job at start.
Everything here only
passes on what the log says; nothing is decided.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from adapters.service.carrying_out import Errand, Office
from adapters.service.polls import Polls
from adapters.service.publishing import Publisher
from adapters.service.slots import Slot
from adapters.service.turn import Prepared
from adapters.service.workers import Workers
from core.jobs.effects import EffectKind
from core.jobs.events import (
    DecisionCancelled,
    DecisionFired,
    DecisionScheduled,
    EffectFailed,
    EffectSucceeded,
    EffectSuperseded,
)
from core.ports.alarms import Alarms
from core.rayjob.events import RayJobEvent
from core.rayjob.evolve import evolve
from core.rayjob.observations import JobIdentity
from core.rayjob.state import RayJobState
from core.rayjob.status import status
from core.values.documents import Manifest
from core.values.ids import EffectId, StreamId, shard_of

Herald = Callable[[JobIdentity, Sequence[RayJobEvent]], None]
"""Sends the Kubernetes Events that follow from events."""


@dataclass(frozen=True, slots=True)
class Handover:
    """Passes on what follows."""

    office: Office
    workers: Workers
    publisher: Publisher
    polls: Polls
    alarms: Alarms
    herald: Herald
    under_way: dict[StreamId, dict[EffectId, Errand]] = field(default_factory=dict)
    """Effects that were handed to the workers and have not ended. The turn's thread only."""

    def after_append(self, prepared: Prepared) -> None:
        """Pass on what follows from the events that were just appended."""
        stream, state = prepared.slot.stream_id, prepared.view.state
        identity = state.identity
        if identity is None:
            return
        self._settle_accounts(stream, prepared.events)
        self._pass_on(stream, state, identity, statuses(prepared.before.state, prepared.events))
        if any(isinstance(event, DecisionScheduled) for event in prepared.events):
            self._wake(state)
        self.herald(identity, prepared.events)

    def retired(self, stream: StreamId) -> None:
        """Drop the errands of a job in which nothing is left to do; its status still goes out."""
        self._drop_errands(stream)
        self.publisher.retire(stream)

    def abandon(self, shards: Collection[int]) -> None:
        """Drop everything about the jobs of shards that another replica works on now."""
        known = {*self.under_way, *self.polls.streams(), *self.publisher.streams()}
        for stream in known:
            if shard_of(stream) in shards:
                self._drop_errands(stream)
                self.polls.forget(stream)
                self.publisher.forget(stream)

    def resume(self, slot: Slot) -> None:
        """Pass on what an open job still waits for, after a start."""
        state = slot.view.state
        if state.identity is not None:
            self._pass_on(slot.stream_id, state, state.identity, [status(state)])

    def _pass_on(
        self,
        stream: StreamId,
        state: RayJobState,
        identity: JobIdentity,
        shown: list[Manifest],
    ) -> None:
        """Ask for the finalizer first, then for the status, then for everything else.

        So users see an attempt's names before anything of that name exists, and why a cluster goes
        before it goes.
        """
        if state.deleted_at is not None:
            self._drop_errands(stream)
            self.polls.forget(stream)
            self.publisher.forget(stream)
            return
        self._errands(stream, state, first=True)
        if task := self.publisher.offer(identity, shown):
            self.workers.submit(stream, task)
        self._errands(stream, state, first=False)
        self.polls.update(stream, state)

    def _errands(self, stream: StreamId, state: RayJobState, *, first: bool) -> None:
        for effect in state.effects:
            is_first = effect.wanted.kind is EffectKind.ADD_FINALIZER
            under_way = self.under_way.setdefault(stream, {})
            if is_first is first and effect.effect_id not in under_way:
                errand = Errand(self.office, stream, effect)
                under_way[effect.effect_id] = errand
                self.workers.submit(stream, errand)

    def _drop_errands(self, stream: StreamId) -> None:
        for errand in self.under_way.pop(stream, {}).values():
            errand.is_dropped = True

    def _wake(self, state: RayJobState) -> None:
        if state.decisions:
            self.alarms.wake(min(decision.due_at for decision in state.decisions))

    def _settle_accounts(self, stream: StreamId, events: Sequence[RayJobEvent]) -> None:
        under_way = self.under_way.get(stream, {})
        for event in events:
            if isinstance(event, EffectSucceeded | EffectFailed | EffectSuperseded):
                under_way.pop(event.effect_id, None)
            if isinstance(event, DecisionFired | DecisionCancelled):
                self.alarms.done(event.decision_id)
            if isinstance(event, DecisionFired):
                late = (self.office.clock.now() - event.due_at).total_seconds()
                self.office.metrics.lateness_seconds.labels(event.kind.value).observe(late)


def statuses(state: RayJobState, events: Sequence[RayJobEvent]) -> list[Manifest]:
    """Return the statuses that `events` lead through: one per phase, and the last.

    The phase they begin in was shown before; if they come back to it, it is shown again.
    """
    shown: list[Manifest] = []
    is_left = False
    for event in events:
        after = evolve(state, event)
        if after.phase is not state.phase:
            if is_left:
                shown.append(status(state))
            is_left = True
        state = after
    shown.append(status(state))
    return shown
