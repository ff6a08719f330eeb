"""Takes over the jobs of shards that were gained, some shards at a time.

A start waits until everything has been listed from the cluster, loads open jobs from the log, and
only then opens the gates: effects are carried out, heads are asked and decisions fire on what is
true now. So it is for every shard that is gained later: until its jobs are taken up, nothing is
done for them. What comes of a shard that waits to be loaded is held back, so that the jobs of one
that was taken up need not wait for those of all.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from jobledger.adapters.service.ledgers.set_back_detection import SetBackDetection
from jobledger.adapters.service.loop.handover import Handover
from jobledger.adapters.service.loop.reopening import needs_no_look
from jobledger.adapters.service.loop.turn import Turn
from jobledger.adapters.service.resync.first_looks import FirstLooks
from jobledger.adapters.service.resync.retelling import retell_shards
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.slots import Slot, Slots
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.history import History
from jobledger.core.values.documents import child
from jobledger.core.values.ids import SHARDS, StreamId, shard_of

log = get_logger(__name__)

STEP_JOBS = 100
"""Shards are taken over one after the other until they have so many jobs to read or to decide on.

Then a turn is taken for all that were taken over before: none waits long, and few jobs are one
step.
"""

QUIET_SECONDS = 2.0
"""How long lists are waited for that do not come, before what came is written to the log."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A shard that is held and not loaded yet."""

    epoch: int
    streams: list[StreamId] = field(default_factory=list)
    """Its open jobs."""


@dataclass(slots=True, kw_only=True)
class ShardTakeover:
    """The shards that are held, and how far their jobs are known. Of the turn's thread."""

    turn: Turn
    slots: Slots
    inbox: Inbox
    leases: LeaseKeeper
    handlers: EventHandlers
    handover: Handover
    history: History
    clock: Clock
    first_looks: FirstLooks
    set_back: SetBackDetection
    seek_absent: Callable[[Slot], None]
    """Has the API server asked for what the log knows of a job and no watch shows."""
    stopping: threading.Event
    step_jobs: int = STEP_JOBS
    is_open: bool = False
    """Whether everything had been listed, so that jobs could be acted for."""
    is_whole: bool = False
    """Whether the jobs of every shard that was held were taken up, once."""
    _waiting: dict[int, _Waiting] = field(default_factory=dict)
    """Shards whose open jobs are still to be loaded."""
    _loaded: dict[int, int] = field(default_factory=dict)
    """Shards whose open jobs are loaded, with the epochs they were loaded under."""
    _taken_up: dict[int, int] = field(default_factory=dict)
    """Those of them that are acted for."""
    _told: set[int] = field(default_factory=set)
    """Shards that were gained before anything was acted for: all that was listed waits for them."""
    _at_once: bool = False
    """Whether no shard is to be taken over before another: the ledger was set back."""
    _come: tuple[int, float] = (-1, 0.0)
    """How much had come in before anything was acted for, and since when it is so much."""
    _gaining: frozenset[int] = frozenset()
    """Shards that were gained, and of which the ledger has not said yet which jobs are open."""
    _gained: int = 0
    """How many shards were gained since none waited."""

    @property
    def is_under_way(self) -> bool:
        """Return whether jobs of shards that are held wait to be taken up."""
        return bool(self._waiting) or len(self._taken_up) < len(self._loaded)

    def follow_leases(self) -> None:
        """Let go of the jobs of shards that were lost, note those that were gained.

        A shard that is held under another epoch than before was lost in between: others may have
        worked on its jobs. One that was passed over was not held for a moment, though the lease or
        the claim was back before anybody looked. If the ledger was set back, all are read anew.
        Raises as the ledger does, and is to be called again then.
        """
        if is_set_back := self.set_back.begins():
            self._loaded, self._waiting, self._taken_up, self._at_once = {}, {}, {}, True
            self.first_looks.forget()
            self.let_go(frozenset(range(SHARDS)))  # though others may hold every shard by now
        held = self.leases.held()
        missed = self.turn.unheard if self.is_open else frozenset[int]()
        kept = {k: v for k, v in self._loaded.items() if held.get(k) == v and k not in missed}
        waiting = {k: v for k, v in self._waiting.items() if held.get(k) == v.epoch}
        gained = frozenset(held.keys() - kept.keys() - waiting.keys())
        is_changed = is_set_back or kept != self._loaded or waiting != self._waiting
        is_changed = is_changed or bool(gained or self._gaining)
        if not is_changed or self.stopping.is_set():
            return
        # A turn may have read jobs of any other before, under an epoch that has passed.
        self.let_go(frozenset(range(SHARDS)) - kept.keys())
        if lost := self._loaded.keys() - kept.keys():
            log.info("shards_lost", shards=len(lost), open_jobs=len(self.slots))
        self._loaded, self._waiting = kept, waiting
        self._taken_up = {k: v for k, v in self._taken_up.items() if kept.get(k) == v}
        self.leases.take_up(self._taken_up)
        self._gaining = gained
        self.inbox.hold_back(self._waiting.keys() | gained)  # whatever the ledger answers now
        if gained:
            self._gain({shard: held[shard] for shard in gained}, held)
            self._gaining = frozenset()

    def _gain(self, gained: Mapping[int, int], held: Mapping[int, int]) -> None:
        self.first_looks.begin(held)
        self.turn.footing.has_read()  # what is open now is loaded later: it may be set back between
        waiting = {shard: _Waiting(epoch) for shard, epoch in gained.items()}
        for stream in self.history.open_streams(sorted(gained)):
            waiting[shard_of(stream)].streams.append(stream)
        self._waiting |= waiting
        self._told = self._told - gained.keys() if self.is_open else self._told | gained.keys()
        self._gained += len(gained)

    def let_go(self, shards: frozenset[int]) -> None:
        """Drop everything about the jobs of shards that others may work on."""
        self.handover.abandon(shards)
        self.slots.drop_shards(shards)

    def go_on(self, *, knows_all: bool) -> None:
        """Load some of the shards that wait, and take up what is loaded once all was listed.

        Raises as the ledger does, and is to be called again then: what was done stays done.
        """
        if self.stopping.is_set() or self.set_back.is_noticed:
            return
        may_act = knows_all or self.is_open
        if self._waiting and (may_act or self._is_quiet()):
            self._load(self._step())
        if may_act and len(self._taken_up) < len(self._loaded):
            self._take_up(frozenset(self._loaded.keys() - self._taken_up.keys()))
        self.is_whole |= self.is_open and not self.is_under_way

    def _is_quiet(self) -> bool:
        """Return whether nothing has come in for a while: what is still to be listed may not come.

        What has come is written to the log then, and nothing is acted for.
        """
        size, now = self.inbox.size, self.clock.monotonic()
        if size != self._come[0]:
            self._come = size, now
        return now - self._come[1] >= QUIET_SECONDS

    def _step(self) -> frozenset[int]:
        """Return the shards that are loaded next."""
        step, jobs = set[int](), 0
        for shard in sorted(self._waiting):
            if step and jobs >= self.step_jobs and not self._at_once:
                break
            step.add(shard)
            jobs += max(len(self._waiting[shard].streams), self.inbox.count_held_back(shard))
        return frozenset(step)

    def _load(self, shards: frozenset[int]) -> None:
        """Hold the open jobs of shards, and let through what is held back of them."""
        self.slots.load_open(
            [stream for shard in shards for stream in self._waiting[shard].streams]
        )
        self.slots.note_finished(self.history.finished(shards))
        self.turn.footing.has_read()  # what asks the ledger comes before anything is let through
        self.inbox.hold_back((self._waiting.keys() - shards) | self._gaining)
        self.set_back.tell()
        for shard in shards:
            self._loaded[shard] = self._waiting.pop(shard).epoch
        if not self._waiting:
            log.info("shards_gained", shards=self._gained, open_jobs=len(self.slots))
            self._at_once, self._gained = False, 0

    def _take_up(self, shards: frozenset[int]) -> None:
        """Bring the jobs of shards up to date and pass on what they wait for."""
        unheard = shards & (self.turn.unheard | self.turn.unjudged)
        self.turn.unheard -= unheard  # what is passed over from now on is noted anew
        self.turn.unjudged -= unheard
        gained = (shards - self._told) | unheard
        self.first_looks.look_anew(self.slots, shards)
        retell_shards(self.handlers, self.slots, unheard, gained, self.clock.now())
        self.hear_out()
        self._take_up_finished(shards)
        if self.set_back.is_noticed:
            return
        self._taken_up |= {shard: self._loaded[shard] for shard in shards}
        self.leases.take_up(self._taken_up)
        for slot in self.slots.of(shards):
            self.seek_absent(slot)
            self.handover.resume(slot)
        self.handover.alarms.wake()
        if not self.is_open:
            self._open()

    def _open(self) -> None:
        self.is_open = True
        self.handover.workers.open_gate()
        for follower in self.handover.followers.values():
            follower.open_gate()
        log.info("gates_opened", open_jobs=len(self.slots))

    def hear_out(self) -> None:
        """Take turns until what had come in by now has been decided."""
        left = len(self.inbox)
        while left > 0 and len(self.inbox) and not self.stopping.is_set():
            left -= max(1, self.turn.run_once(wait_seconds=0))

    def _take_up_finished(self, shards: frozenset[int]) -> None:
        """Publish ends that users have not seen; look for objects that went after the end."""
        finished = self.slots.finished_of(shards)
        jobs = self.handlers.live.jobs_in(shards) if finished else ()
        there = {job.identity.stream_id: job for job in jobs}
        for stream in finished:  # what was shown while another held the shard was left to that one
            if (job := there.get(stream)) is not None:
                self.handover.changed_by_others(stream, job.version, child(job.manifest, "status"))
        self.look_again(
            [
                stream
                for stream, summary in finished.items()
                if not needs_no_look(summary, there.get(stream), self.handlers.live)
            ]
        )

    def look_again(self, streams: Sequence[StreamId]) -> None:
        """Read jobs that had ended, and do what is left to do; raises as the ledger does."""
        self.slots.load(streams)
        for stream in streams:
            slot = self.slots.held(stream)
            if slot is not None and not self.set_back.holds(slot):
                self.seek_absent(slot)
                self.handover.resume(slot)
                if self.slots.retire(slot):
                    self.handover.retired(stream)
