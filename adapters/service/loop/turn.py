"""One turn: takes observations, decides, appends, and only then hands over what follows.

One thread takes turns. A turn takes what has come in, decides for every job concerned, and appends
it all in one call;
while that call is under way the next observations gather, so batches form by themselves and nobody
waits for one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from jobledger.adapters.service.loop.milestones import log_milestones
from jobledger.adapters.service.loop.reopening import may_reopen
from jobledger.adapters.service.loop.slowing import Slowing
from jobledger.adapters.service.loop.turn_partners import Epochs, Follower
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.shards.footing import Footing
from jobledger.adapters.service.shards.set_back import set_back
from jobledger.adapters.service.work.inbox import Arrival, Inbox
from jobledger.adapters.service.work.prepared import Prepared
from jobledger.adapters.service.work.slots import Slot, Slots
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.catalogue import NAMES, JobEvent
from jobledger.core.decider import Decided
from jobledger.core.errors import BrokenChain, LedgerError
from jobledger.core.jobs.observations import AboutStatus
from jobledger.core.kinds import TURNING_POINTS, JobObservation, JobState, decide, identified
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import Writer
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.event_store import AppendOutcome, AppendResult, EventStore, StreamAppend
from jobledger.core.projections.view import advance
from jobledger.core.turns import record_turn
from jobledger.core.values.ids import StreamId, shard_of

log = get_logger(__name__)

BATCH_OBSERVATIONS_MAX = 200
"""Observations per turn.

With some 50 events per append a job's news is never far back in the queue.
"""

WAIT_SECONDS = 0.5
"""How long a turn waits for the first observation."""

PAUSE_FIRST_SECONDS, PAUSE_MAX_SECONDS = 0.1, 5.0
"""Pauses between tries while the ledger is not available."""

DECISIONS_AGAIN_MAX = 5
"""How often a turn is decided anew after a conflict before it is left to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """What a turn works with."""

    store: EventStore
    slots: Slots
    inbox: Inbox
    confirmations: Confirmations
    epochs: Epochs
    clock: Clock
    metrics: Metrics
    actor: str
    pause: Callable[[float], bool]
    """Wait that many seconds; True if the service is to stop."""
    job_events_per_hour: int = 6000
    """Beyond it a job is slowed."""
    appended: Callable[[JobEvent], None] = lambda _: None
    """Is called for each event that is in the log."""


class Turn:
    """Takes turns, for ever; `run_once` is one."""

    def __init__(self, parts: TurnParts, follower: Follower) -> None:
        self._parts = parts
        self._follower = follower
        self._observations = cache(parts.metrics.observations.labels)
        self._events = cache(parts.metrics.events.labels)
        limit, slots = parts.job_events_per_hour, parts.slots
        self.slowing = Slowing(parts.clock, parts.metrics, limit, slots.state)
        self.unheard: set[int] = set()
        """Shards of which observations were passed over, because they were not held."""
        self.unjudged: set[int] = set()
        """Shards of which sightings wait until the API server was asked for an unknown job."""
        self.set_back: set[StreamId] = set()
        """Jobs whose streams were found to end before what was appended here."""
        self.is_premature: Callable[[StreamId, JobObservation], bool] = lambda *_: False
        """Tells of a job in no log whether a sighting may be too old to decide on."""
        self.footing = Footing(parts.store)
        slots.on_read, slots.on_end = self.slowing.read, self.footing.appended
        self.is_waiting_for_ledger = False
        """Whether the ledger was not available at the last try."""
        self.trouble = ""
        """Why it was not; empty if it was."""

    def run_once(self, wait_seconds: float = WAIT_SECONDS) -> int:
        """Take one turn; return how many observations it took."""
        taken = self._parts.inbox.take(BATCH_OBSERVATIONS_MAX, wait_seconds)
        arrivals = self.slowing.admit(taken)
        self._parts.metrics.inbox.set(self._parts.inbox.size)
        if arrivals:
            self._take(arrivals)
        return max(len(taken), len(arrivals))

    def is_heard(self, stream: StreamId) -> bool:
        """Return whether this process works on a job. Called by who watches, from any thread.

        If not, its shard is noted first: whoever gains it from now on finds the note and asks for
        all that was passed over.
        """
        shard = shard_of(stream)
        if self._parts.epochs.epoch(shard) is not None or not self._parts.epochs.is_known():
            return True  # what comes before the first lease waits in the inbox
        self.unheard.add(shard)
        return self._parts.epochs.epoch(shard) is not None

    def pass_over(self, stream: StreamId) -> None:
        """Take note that something of a job was passed over, as its shard is not held."""
        self.unheard.add(shard_of(stream))

    def _take(self, arrivals: Sequence[Arrival]) -> None:
        grouped: dict[StreamId, list[JobObservation]] = {}
        for stream, observation in arrivals:
            if stream in grouped or self._concerns_us(stream, observation):  # it is taken up then
                grouped.setdefault(stream, []).append(observation)
        self._add_confirmations(grouped)
        for _ in range(DECISIONS_AGAIN_MAX):
            if not grouped or not self._load(list(grouped)):
                return
            self._leave_notes_of_a_lost_past(grouped)
            self._note_set_back(grouped)
            prepared = [
                item
                for stream, observations in grouped.items()
                if (item := self._prepare(stream, observations)) is not None
            ]
            grouped = self._append(prepared)
        if grouped:
            log.error("conflicts_without_end", streams=len(grouped))
            left = [(stream, item) for stream, items in grouped.items() for item in items]
            self._parts.inbox.put_back(left)
            self._parts.pause(PAUSE_FIRST_SECONDS)

    def _leave_notes_of_a_lost_past(self, grouped: dict[StreamId, list[JobObservation]]) -> None:
        """Drop the note of a write of a job that was over and is not by the log any more.

        Nothing follows from it, and what the watch shows of the job by now may be older than it:
        the job is held and asked for once the loss is noticed, or there is news of it.
        """
        for stream, observations in list(grouped.items()):
            if all(isinstance(item, AboutStatus) for item in observations) and (
                self._parts.slots.leave_set_back(stream)
            ):
                del grouped[stream]

    def _note_set_back(self, grouped: dict[StreamId, list[JobObservation]]) -> None:
        """Let a job that was over by what is known here, and is not by the log, be held first."""
        for stream, observations in grouped.items():
            slot, known = self._parts.slots.held(stream), self._parts.slots.take_set_back(stream)
            if slot is not None and known:
                self.set_back.add(stream)
                observations.insert(0, set_back(known, slot.tail, self._parts.clock.now()))

    def _add_confirmations(self, grouped: dict[StreamId, list[JobObservation]]) -> None:
        """Let what was seen unchanged go out with news of a job, before that news may end it."""
        for stream, observations in grouped.items():
            if not any(isinstance(item, TURNING_POINTS) for item in observations):
                continue
            if (total := self._parts.confirmations.take(stream)) is not None:
                observations.insert(0, total)

    def _concerns_us(self, stream: StreamId, observation: JobObservation) -> bool:
        """Return whether an observation could bring news to a job that this process works on."""
        if self._parts.epochs.epoch(shard_of(stream)) is None:
            self.unheard.add(shard_of(stream))
            return False
        finished = self._parts.slots.finished(stream)
        return finished is None or may_reopen(finished, observation)

    def _load(self, streams: list[StreamId]) -> bool:
        return self._read(lambda: self._parts.slots.load(streams))

    def _read(self, read: Callable[[], None]) -> bool:
        """Read from the log, waiting until it is available; False if the service is to stop."""
        pause = PAUSE_FIRST_SECONDS
        while True:
            try:
                read()
            except LedgerError as error:
                if not self._wait_for_ledger(error, pause):
                    return False
                pause = min(pause * 2, PAUSE_MAX_SECONDS)
            else:
                self._note_ledger()
                return True

    def _prepare(self, stream: StreamId, observations: list[JobObservation]) -> Prepared | None:
        slot = self._parts.slots.held(stream)
        if slot is None:  # its stream cannot be read
            return None
        epoch = self._parts.epochs.epoch(shard_of(stream))
        if epoch is None:
            self.unheard.add(shard_of(stream))
            return None
        if slot.tail.version == 0:
            observations = self._fresh(stream, observations)
        try:
            prepared = self._news(slot, epoch, observations)
        except Exception:  # one poisoned job must not stop the others; the line names it
            self._parts.metrics.poisoned.inc()
            log.exception("job_poisoned", job=self._parts.slots.name(stream), stream=str(stream))
            return None
        if prepared is None:
            self._let_go(slot)
        return prepared

    def _fresh(self, stream: StreamId, seen: list[JobObservation]) -> list[JobObservation]:
        """Return what may be decided on of a job in no log; the rest is told anew, as it is."""
        kept = [item for item in seen if not self.is_premature(stream, item)]
        if len(kept) < len(seen):
            self.unjudged.add(shard_of(stream))  # for whoever gains it before there is an answer
        return kept

    def _news(self, slot: Slot, epoch: int, observations: list[JobObservation]) -> Prepared | None:
        """Return what observations bring, ready to be appended; None if they bring no news."""
        writer = Writer(actor=self._parts.actor, epoch=epoch, now=self._parts.clock.now())
        state, tail = slot.view.state, slot.tail
        events: list[JobEvent] = []
        states: list[JobState] = []
        records: list[EventRecord] = []
        for arrival in observations:
            observation = identified(tail.stream_id, tail.version, arrival)
            try:
                news = self._decide(state, observation)
                made, tail = record_turn(tail, writer, observation, news)
            except Exception:  # the job goes on without what poisons it; the line names it
                self._parts.metrics.poisoned.inc()
                kind = type(observation).__name__
                log.exception("observation_poisoned", stream=str(slot.stream_id), observation=kind)
                continue
            state = news.state
            events += news.events
            states += news.states
            records += made
        if not events:
            return None
        view, rows = advance(slot.view, events, states)
        part = StreamAppend(
            stream_id=slot.stream_id,
            expected_version=slot.tail.version,
            events=tuple(records),
            rows=rows,
        )
        return Prepared(slot, observations, slot.view, events, states, view, tail, part)

    def _decide(self, state: JobState, observation: JobObservation) -> Decided[JobState, JobEvent]:
        news = decide(state, observation)
        kind = type(observation).__name__
        self._observations(kind, "yes" if news.events else "no").inc()
        return news

    def _append(self, prepared: list[Prepared]) -> dict[StreamId, list[JobObservation]]:
        """Append and hand over; return what has to be decided anew, after a conflict."""
        if not prepared:
            return {}
        try:
            results = self._append_until_done(prepared)
        except BrokenChain as error:
            return self._one_by_one(prepared, error)
        by_stream = {result.stream_id: result for result in results}
        again: dict[StreamId, list[JobObservation]] = {}
        for item in prepared:
            outcome = item.judged(by_stream.get(stream := item.slot.stream_id))
            if outcome in (AppendOutcome.APPENDED, AppendOutcome.DUPLICATE):
                self._appended(item)
            elif outcome is not None:
                self._parts.metrics.conflicts.labels(outcome.value).inc()
                job = self._parts.slots.name(stream)
                log.warning("append_refused", job=job, stream=str(stream), outcome=outcome.value)
            if outcome is AppendOutcome.CONFLICT and self._reload(stream):
                again[stream] = self._after_conflict(item)
            if outcome is AppendOutcome.FENCED:
                self._parts.epochs.lost(shard_of(stream))
                self.unheard.add(shard_of(stream))
                # Decided again if the lease is back by then, as after the ledger has lost it.
                self._parts.inbox.put_back([(stream, one) for one in item.arrivals])
        return again

    def _appended(self, item: Prepared) -> None:
        before = item.slot.tail
        item.slot.view, item.slot.tail = item.view, item.tail
        self.footing.appended(item.tail, before)
        self.slowing.spent(item.slot.stream_id, len(item.events))
        log_milestones(self._parts.slots.name(item.slot.stream_id), item.events)
        for event in item.events:
            self._events(NAMES[type(event)]).inc()
            self._parts.appended(event)
        try:
            self._follower.after_append(item)
        except Exception:  # what follows from one job must not keep the others waiting
            self._parts.metrics.poisoned.inc()
            log.exception("handover_poisoned", stream=str(item.slot.stream_id))
        self._let_go(item.slot)

    def _reload(self, stream: StreamId) -> bool:
        """Read a job anew and pass on what it waits for: somebody else has written to it."""
        if not self._read(lambda: self._parts.slots.reload(stream)):
            return False
        slot = self._parts.slots.held(stream)
        if slot is None:
            return False
        if slot.is_cut_off:
            self.set_back.add(stream)  # nothing is passed on: it is held
        else:
            self._follower.resume(slot)
        return True

    def _after_conflict(self, item: Prepared) -> list[JobObservation]:
        """Return what is decided anew; that the stream was set back comes before all else."""
        slot = self._parts.slots.held(item.slot.stream_id)
        if slot is None or slot.stream_id not in self.set_back:
            return item.arrivals
        known = item.slot.tail.version
        return [set_back(known, slot.tail, self._parts.clock.now()), *item.arrivals]

    def _append_until_done(self, prepared: list[Prepared]) -> Sequence[AppendResult]:
        """Return the results; while the ledger is away, the very same records are sent again.

        Empty, if the service is to stop before. Raises `BrokenChain` as the store does.
        """
        batch = [item.part for item in prepared]
        pause = PAUSE_FIRST_SECONDS
        while True:
            try:
                with self._parts.metrics.append_seconds.time():
                    results = self._parts.store.append(batch)
            except BrokenChain:
                raise
            except LedgerError as error:
                if not self._wait_for_ledger(error, pause):
                    return ()
                pause = min(pause * 2, PAUSE_MAX_SECONDS)
            else:
                self._note_ledger()
                self._parts.metrics.append_events.observe(sum(len(p.events) for p in batch))
                return results

    def _one_by_one(
        self, prepared: list[Prepared], error: BrokenChain
    ) -> dict[StreamId, list[JobObservation]]:
        """Append each job, and of a broken one each observation, by itself.

        So what cannot be appended stands alone: an observation whose events are in the log already
        (it was taken in before, and decided about otherwise), or a job whose chain is broken.
        """
        again: dict[StreamId, list[JobObservation]] = {}
        if len(prepared) > 1:
            for item in prepared:
                again |= self._append([item])
            return again
        broken = prepared[0]
        stream = broken.slot.stream_id
        if len(broken.arrivals) == 1:
            self._parts.metrics.poisoned.inc()
            kind = type(broken.arrivals[0]).__name__
            log.error("append_poisoned", stream=str(stream), observation=kind, error=str(error))
            if self._reload(stream) and stream in self.set_back:
                return {stream: self._after_conflict(broken)}
            return again
        for number, observation in enumerate(broken.arrivals):
            if not self._load([stream]):
                break
            alone = self._prepare(stream, [observation])
            if alone is not None and self._append([alone]):
                return {stream: broken.arrivals[number:]}
        return again

    def _note_ledger(self) -> None:
        self._parts.metrics.ledger_up.set(1)
        if self.is_waiting_for_ledger:
            log.info("ledger_available")
        self.is_waiting_for_ledger, self.trouble = False, ""

    def _wait_for_ledger(self, error: LedgerError, pause: float) -> bool:
        """Wait, whatever the error: somebody may put it right, and this thread is all there is."""
        self._parts.metrics.ledger_up.set(0)
        self.is_waiting_for_ledger, self.trouble = True, str(error)
        log.warning("ledger_unavailable", error=self.trouble, retry_in_seconds=pause)
        return not self._parts.pause(pause)

    def _let_go(self, slot: Slot) -> None:
        if self._parts.slots.retire(slot):
            self._parts.confirmations.forget(slot.stream_id)
            self._follower.retired(slot.stream_id)
        self._parts.metrics.jobs.set(len(self._parts.slots))
