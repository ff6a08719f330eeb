"""What follows an append: effects, statuses, polls, alarms, Kubernetes Events.

Called by the turn for every job whose events were appended, and for every open job at start.
Everything here only
passes on what the log says; nothing is decided.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from jobledger.adapters.service.effects.carrying_out import EffectContext, EffectTask
from jobledger.adapters.service.effects.failures_seen import failure_capture
from jobledger.adapters.service.effects.waiting_pods import (
    WaitingLook,
    begin_or_end_looks,
    resumed_look,
    waiting_look,
)
from jobledger.adapters.service.evidence.failing_pods import FailingPods
from jobledger.adapters.service.followers import Follower
from jobledger.adapters.service.status.status_writer import Publisher
from jobledger.adapters.service.work.prepared import Prepared
from jobledger.adapters.service.work.slots import Slot
from jobledger.adapters.service.work.workers import Lane, Task, Workers, lasting
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionFired,
    DecisionScheduled,
    EffectFailed,
    EffectSucceeded,
    EffectSuperseded,
    LedgerBehindFound,
)
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.pending.effects import ON_THE_JOB, EffectKind
from jobledger.core.kinds import AnyKind, JobObservation, JobState, kind_of, status
from jobledger.core.ports.alarms import Alarms
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import EffectId, StreamId, shard_of

log = get_logger(__name__)

Announce = Callable[[JobIdentity, Sequence[JobEvent], AnyKind, JobState], None]
"""Sends the Kubernetes Events that follow from events; last comes the state before them."""


_ENDS_OF_EFFECTS = (EffectSucceeded, EffectFailed, EffectSuperseded)
_ENDS_OF_DECISIONS = (DecisionFired, DecisionCancelled)


@dataclass(frozen=True, slots=True)
class Handover:
    """Passes on what follows."""

    context: EffectContext
    workers: Workers
    publisher: Publisher
    followers: Mapping[str, Follower]
    """Kind of job -> what asks about running ones; a kind may have none."""
    alarms: Alarms
    announce: Announce
    under_way: dict[StreamId, dict[EffectId, EffectTask]] = field(default_factory=dict)
    """Effects that were handed to the workers and have not ended. The turn's thread only."""
    pods: FailingPods | None = None
    """Has Pods looked at that fail; None: none are."""
    looks: dict[StreamId, WaitingLook] = field(default_factory=dict)
    """Looks at Pods that may wait, of attempts that go on. The turn's thread only."""

    def after_append(self, prepared: Prepared) -> None:
        """Pass on what follows from the events that were just appended."""
        stream, state = prepared.slot.stream_id, prepared.view.state
        identity = state.identity
        if identity is None:
            return
        self._close_finished(stream, prepared.events)
        self._pass_on(stream, state, identity, self._to_show(stream, prepared))
        if any(isinstance(event, DecisionScheduled) for event in prepared.events):
            self._wake(state)
        before = prepared.before.state
        if task := failure_capture(self.context, stream, state, prepared.events, before):
            self.workers.submit(stream, task)
        self._look_at_waiting(stream, state, prepared.events)
        told = prepared.events
        if state.recorded is not None:  # that it is held is all that is told of it
            told = [event for event in told if isinstance(event, LedgerBehindFound)]
        self.announce(identity, told, kind_of(state), before)

    def _to_show(self, stream: StreamId, prepared: Prepared) -> list[Manifest]:
        """Return the statuses that users are to see.

        Of a job that was held and let go within one turn only those after it: what waits to be
        written may be of a past that the log has lost, and would be shown over what was found.
        """
        states = prepared.states
        held = [number for number, one in enumerate(states) if is_held(one)]
        if not held:
            return statuses(prepared.before.state, states)
        self._drop_errands(stream)
        self._forget(stream)
        return statuses(states[held[-1]], states[held[-1] + 1 :])

    def changed_by_others(
        self, stream: StreamId, version: str, shown: Manifest, *, went_back: bool = False
    ) -> None:
        """Have a status written anew that others have changed. Called from any thread.

        One of ours that is ahead of the log is no such change, but news of the job.
        """
        publisher = self.publisher
        if not publisher.is_own(stream, shown) and publisher.is_ahead(stream):
            return
        if task := self.publisher.seen(stream, version, shown, went_back=went_back):
            self._begin(stream, task, Lane.OWN)

    def tell_with_answer(self, stream: StreamId, end: JobObservation) -> bool:
        """Tell of what ends an attempt along with an answer about the job; False: none is asked."""
        return any(one.tell_with_answer(stream, end) for one in self.followers.values())

    def retired(self, stream: StreamId) -> None:
        """Drop the errands of a job in which nothing is left to do; its status still goes out."""
        self._drop_errands(stream)
        self.publisher.retire(stream)

    def abandon(self, shards: Collection[int]) -> None:
        """Drop everything about the jobs of shards that another replica works on now."""
        known = {*self.under_way, *self.publisher.remembered()}
        known = known.union(*(follower.streams() for follower in self.followers.values()))
        for stream in known:
            if shard_of(stream) in shards:
                self.drop(stream)

    def drop(self, stream: StreamId) -> None:
        """Drop everything about a job: what is under way may be of a past that the log has lost."""
        self._drop_errands(stream)
        self._forget(stream)

    def _forget(self, stream: StreamId) -> None:
        """Ask no more about a job, and write no status of it."""
        for follower in self.followers.values():
            follower.forget(stream)
        self.publisher.forget(stream)

    def resume(self, slot: Slot) -> None:
        """Pass on what an open job still waits for, after a start."""
        try:
            self._resume(slot)
        except Exception:  # what follows from one job must not keep the others waiting
            self.context.metrics.poisoned.inc()
            log.exception("handover_poisoned", stream=str(slot.stream_id))

    def _resume(self, slot: Slot) -> None:
        state = slot.view.state
        if state.identity is not None:
            self._pass_on(slot.stream_id, state, state.identity, [status(state)])
            self._begin_look(slot.stream_id, resumed_look(self.context, slot.stream_id, state))
            if self.pods is not None:
                self.pods.resume(state.identity.uid)

    def _pass_on(
        self,
        stream: StreamId,
        state: JobState,
        identity: JobIdentity,
        shown: list[Manifest],
    ) -> None:
        """Ask for the finalizer first, then for the status; for what concerns others beside that.

        An attempt's names and the reason why a cluster goes are in the log before anything is
        asked for. Users wait for neither: a write of the status takes as long as a creation.
        """
        if state.deleted_at is not None:
            self._forget(stream)
            if kind_of(state).is_open(state):  # its object is back, and may go
                self._effect_tasks(stream, state, first=False)
            else:
                self._drop_errands(stream)
            return
        if state.recorded is not None:  # nothing is done about it
            if state.recorded.behind:  # what is under way may be of a past that the log has lost
                self._drop_errands(stream)
            self._forget(stream)
            return
        self._effect_tasks(stream, state, first=True)
        if task := self.publisher.offer(identity, shown, kind_of(state).name):
            self._begin(stream, task, Lane.OWN)
        self._effect_tasks(stream, state, first=False)
        follower = self.followers.get(kind_of(state).name)
        if follower is not None and (look := follower.follow(stream, state)):
            self._begin(stream, look)

    def _begin(self, stream: StreamId, task: Task, lane: Lane = Lane.OTHERS) -> None:
        """Have a task carried out that is taken for under way until it is over."""
        self.workers.submit(stream, partial(lasting, stream, task), lane)

    def _effect_tasks(self, stream: StreamId, state: JobState, *, first: bool) -> None:
        for effect in state.effects:
            if (effect.desired.kind is EffectKind.ADD_FINALIZER) is not first:
                continue
            under_way = self.under_way.setdefault(stream, {})
            if effect.effect_id not in under_way:
                effect_task = EffectTask(self.context, stream, effect)
                under_way[effect.effect_id] = effect_task
                lane = Lane.OWN if effect.desired.kind in ON_THE_JOB else Lane.OTHERS
                self._begin(stream, effect_task, lane)

    def _drop_errands(self, stream: StreamId) -> None:
        for effect_task in self.under_way.pop(stream, {}).values():
            effect_task.is_dropped = True
        self._drop_look(stream)

    def _look_at_waiting(
        self, stream: StreamId, state: JobState, events: Sequence[JobEvent]
    ) -> None:
        """Have the Pods looked at for which an attempt waits, and no more those of before."""
        if not begin_or_end_looks(kind_of(state).name).isdisjoint(map(type, events)):
            self._drop_look(stream)
            self._begin_look(stream, waiting_look(self.context, stream, state, events))

    def _begin_look(self, stream: StreamId, look: WaitingLook | None) -> None:
        if look is not None:
            self.looks[stream] = look
            self.workers.submit(stream, look)

    def _drop_look(self, stream: StreamId) -> None:
        if (look := self.looks.pop(stream, None)) is not None:
            look.is_dropped = True

    def _wake(self, state: JobState) -> None:
        if state.decisions:
            self.alarms.wake(min(decision.due_at for decision in state.decisions))

    def _close_finished(self, stream: StreamId, events: Sequence[JobEvent]) -> None:
        under_way = self.under_way.get(stream, {})
        for event in events:
            if isinstance(event, _ENDS_OF_EFFECTS):
                effect_task = under_way.pop(event.effect_id, None)
                if effect_task is not None:
                    effect_task.is_dropped = True
            elif isinstance(event, _ENDS_OF_DECISIONS):
                self.alarms.done(event.decision_id)
                if isinstance(event, DecisionFired):
                    late = (self.context.clock.now() - event.due_at).total_seconds()
                    self.context.metrics.lateness_seconds.labels(event.kind.value).observe(late)


def is_held(state: JobState) -> bool:
    """Return whether nothing is done about a job, as its ledger is behind the cluster."""
    return state.recorded is not None and state.recorded.behind


def statuses(state: JobState, states: Iterable[JobState]) -> list[Manifest]:
    """Return the statuses that a job goes through from `state`: one per milestone, and the last.

    The milestone they begin in was shown before; if they come back to it, it is shown again. A
    status in which there is nothing to see is left out.
    """
    shown: list[Manifest] = []
    is_left = False
    before = kind_of(state).milestone(state)
    for after in states:
        milestone = kind_of(after).milestone(after)
        if milestone != before:
            if is_left:
                shown.append(status(state))
            is_left = True
        state, before = after, milestone
    shown.append(status(state))
    return [item for item in shown if item]
