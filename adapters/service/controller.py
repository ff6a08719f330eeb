"""The service as a whole: starts, takes turns, resumes after a crash, stops.

Nothing is done for a job before what the log knows of it is held against what the cluster shows
(`ShardTakeover`).
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jobledger.adapters.service.ledgers.set_back_detection import SetBackDetection
from jobledger.adapters.service.loop.falling_due import FallingDue
from jobledger.adapters.service.loop.handover import Handover
from jobledger.adapters.service.loop.turn import WAIT_SECONDS, Turn
from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.resync.absences import seek
from jobledger.adapters.service.resync.apart import Fault, apart
from jobledger.adapters.service.resync.back_again import BackAgain
from jobledger.adapters.service.resync.control_release import is_met_everywhere, let_go_of_refused
from jobledger.adapters.service.resync.first_looks import FirstLooks
from jobledger.adapters.service.resync.held_jobs import Holding
from jobledger.adapters.service.resync.lookout import KindResync, Lookout
from jobledger.adapters.service.shard_takeover import ShardTakeover
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.shards.shard_release import ShardRelease
from jobledger.adapters.service.status.event_recorder import EventRecorder
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.kind_watches import KindWatches, SyncedKinds
from jobledger.adapters.service.watches.summing_up import sum_up
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.questions import Questions
from jobledger.adapters.service.work.slots import Slot, Slots
from jobledger.adapters.service.work.workers import Workers
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import LedgerError
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import kind_of
from jobledger.core.ports.alarms import Alarms
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import Watches
from jobledger.core.ports.history import History

log = get_logger(__name__)

STARTING_WAIT_SECONDS = 0.02
"""How long a turn waits before the gates are open: what opens them is no observation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerParts:
    """What the controller is made of; put together in `adapters.wiring`."""

    turn: Turn
    slots: Slots
    inbox: Inbox
    live: ObjectCache
    confirmations: Confirmations
    leases: LeaseKeeper
    workers: Workers
    alarms: Alarms
    event_recorder: EventRecorder
    handover: Handover
    history: History
    watches: Watches
    clock: Clock
    handlers: EventHandlers
    synced: SyncedKinds
    resync: Mapping[str, KindResync]
    """The kinds of job, by name."""
    namespaces: tuple[str, ...]
    """Namespaces to watch; none: all."""
    stopping: threading.Event
    """Set once the service is to stop; the turn waits on it."""
    watch_troubles: Callable[[], list[str]] = list
    """Why watches do not run at the moment; empty if all do."""


class Controller:
    """Runs until it is told to stop."""

    def __init__(self, parts: ControllerParts) -> None:
        self._parts = parts
        self._stopping = parts.stopping
        self.kinds = KindWatches(
            cluster=parts.handover.context.world.cluster,
            watches=parts.watches,
            around=parts.handlers,
            synced=parts.synced,
            namespaces=parts.namespaces,
            stopping=parts.stopping,
        )
        self._starting = threading.Lock()
        self._succeeded = False
        self._unavailable = Repeated(log, "ledger_unavailable", parts.clock.monotonic)
        self._troubles: dict[str, str] = {}
        """What could not be read from the ledger outside of a turn -> why; only while it cannot."""
        leases, workers, wake = parts.leases, parts.workers, parts.alarms.wake
        context = parts.handover.context
        self.holding = Holding(parts.handlers, parts.slots, parts.clock, context.metrics)
        self._setting_back = SetBackDetection(parts.turn, leases, parts.handover)
        self._questions = Questions(workers, leases.epoch, parts.turn.pass_over)
        around, cluster = parts.handlers, context.world.cluster
        whom, followers = (cluster, around, parts.clock), parts.handover.followers
        unanswered = Repeated(log, "object_not_looked_at", parts.clock.monotonic)
        first_looks = FirstLooks(*whom, self._questions, parts.synced, unanswered)
        parts.turn.is_premature = first_looks.is_premature
        self._lookout = Lookout(*whom, self._questions, followers, parts.resync, unanswered)
        self.takeover = ShardTakeover(
            turn=parts.turn,
            slots=parts.slots,
            inbox=parts.inbox,
            leases=leases,
            handlers=around,
            handover=parts.handover,
            history=parts.history,
            clock=parts.clock,
            first_looks=first_looks,
            set_back=self._setting_back,
            seek_absent=self._seek_absent,
            stopping=parts.stopping,
        )
        hear_out, let_go = self.takeover.hear_out, self.takeover.let_go
        self._shard_release = ShardRelease(leases, workers, parts.clock, hear_out, let_go, wake)
        self._on_due = FallingDue(
            parts.slots, parts.inbox, self._lookout, parts.synced.has_listed
        ).tell
        parts.slots.on_let_go = BackAgain(parts.live, parts.clock, self._seek_absent).look
        parts.synced.on_all = parts.alarms.wake  # what fell due of a kind that was left alone
        self._thread = threading.Thread(target=self._run, name="turn", daemon=True)

    def start(self) -> None:
        """Start every thread, once; return at once."""
        parts = self._parts
        with self._starting:
            if self._stopping.is_set() or self._thread.ident is not None:
                return
            parts.alarms.start(self._on_due)
            parts.workers.start()
            for follower in parts.handover.followers.values():
                follower.start()
            parts.event_recorder.start()
            self.watch()
            self._thread.start()

    def stop(self) -> None:
        """Stop acting, append what has come in, give the leases up; what is left is in the log."""
        parts = self._parts
        self._stopping.set()
        with self._starting:
            parts.alarms.stop()
            self.kinds.stop()
            for follower in parts.handover.followers.values():
                follower.stop()
            parts.workers.stop()
            parts.inbox.close()
            if self._thread.ident is not None:
                self._thread.join(timeout=30)
            parts.event_recorder.stop()
            parts.leases.release()

    def is_alive(self) -> bool:
        """Return whether the threads that must live do."""
        return self._thread.is_alive() and self._parts.alarms.is_alive()

    def waits_for(self) -> list[str]:
        """Return what the service still needs before it is ready; empty if it is."""
        parts = self._parts
        reasons = [f"no list of {kind} objects yet" for kind in parts.synced.missing()]
        reasons += self.kinds.waits_for()
        if not parts.leases.held() and not parts.leases.stands_by:
            reasons.append("no lease: another replica holds every shard")
        if not self.takeover.is_whole and parts.leases.held() and not reasons:
            reasons.append("open jobs are being read from the log")
        if self._ledger_troubles():
            reasons.append("the ledger is not available")
        if parts.watch_troubles() or self.kinds.troubles():
            reasons.append("the API server is not available")
        if is_met_everywhere(parts.handlers.mapper.control_policy, parts.live):
            reasons.append("another controller is at work on every job that goes on here")
        return reasons

    def troubles(self) -> list[str]:
        """Return the errors behind `waits_for`, as far as there are any."""
        return [*self._ledger_troubles(), *self._parts.watch_troubles(), *self.kinds.troubles()]

    def _ledger_troubles(self) -> list[str]:
        parts = self._parts
        found = {*self._troubles.values(), parts.turn.trouble, parts.leases.trouble}
        if parts.leases.is_overdue():  # also said if a call never returns
            found.add("the leases were not renewed in time; nothing is done until they are")
        return sorted(found - {""})

    def watch(self) -> None:
        """Start the watches."""
        self.kinds.start()

    def _run(self) -> None:
        inbox = self._parts.inbox
        try:
            while not inbox.is_closed or len(inbox):
                self.run_once(WAIT_SECONDS if self.takeover.is_open else STARTING_WAIT_SECONDS)
        except Exception:  # without this thread nothing is written: say so and let is_alive tell
            log.exception("turn_thread_died")
            raise

    def run_once(self, wait_seconds: float = WAIT_SECONDS) -> None:
        """Follow the leases, take up some of the jobs that wait for it, and take a turn."""
        if not self._succeeded and not self._succeed():
            return
        self._shard_release.go_on()
        self._read("jobs of shards", self.takeover.follow_leases)
        self.kinds.ask_once()
        if self.takeover.is_open:
            let_go_of_refused(self._lookout, self._parts.workers)
        self._read("open jobs", lambda: self.takeover.go_on(knows_all=self.knows_all()))
        self.kinds.watch_pods_once()
        self._repair_drift()
        if self.takeover.is_open:
            self.holding.go_on(self._parts.turn.set_back)
        is_busy = self.takeover.is_open and self.takeover.is_under_way
        self._parts.turn.run_once(0 if is_busy else wait_seconds)

    def _read(self, what: str, read: Callable[[], None]) -> None:
        """Do what reads from the ledger; if it fails, wait a moment: it is to be done again."""
        try:
            read()
        except LedgerError as error:
            self._wait_for_ledger(what, error, 0.5)
        else:
            if self._troubles.pop(what, None):
                self._unavailable.over()

    def _succeed(self) -> bool:
        """Take over from an earlier run of this replica; nothing is read or decided before."""
        leases = self._parts.leases
        try:
            leases.succeed_predecessor()
        except LedgerError as error:
            # Once stopping, what came in is dropped: it will be seen again.
            return self._wait_for_ledger("the last run", error, 1)
        leases.renew()
        self._succeeded = True
        self._troubles.pop("the last run", None)
        return True

    def _wait_for_ledger(self, what: str, error: LedgerError, seconds: float) -> bool:
        """Wait, whatever the error: somebody may put it right. Return whether to stop."""
        self._troubles[what] = str(error)
        self._unavailable.warn(error, needed=what)
        return self._stopping.wait(seconds)

    def _repair_drift(self) -> None:
        """Publish anew what others have written over after its job had ended."""
        parts = self._parts
        publisher = parts.handover.publisher
        due = publisher.take_drifted() if self.takeover.is_open else []
        for stream in due:
            if parts.slots.finished(stream) is None and parts.slots.held(stream) is None:
                publisher.forget(stream)  # none of ours
        try:
            finished = [stream for stream in due if parts.slots.finished(stream) is not None]
            self.takeover.look_again(finished)
        except LedgerError as error:
            publisher.give_back(due)
            self._wait_for_ledger("finished jobs", error, 0.5)
        else:
            self._troubles.pop("finished jobs", None)

    def _seek_absent(self, slot: Slot) -> None:
        """Have the API server asked for what the log knows and no watch shows."""
        parts, identity = self._parts, slot.view.state.identity
        if identity is None or not self._is_watched(identity):
            return
        if not parts.synced.has_listed(kind_of(slot.view.state).name):
            return
        seek(self._lookout, parts.slots, slot)

    def _is_watched(self, identity: JobIdentity) -> bool:
        namespaces, mapper = self._parts.namespaces, self._parts.handlers.mapper
        is_named = not namespaces or identity.namespace in namespaces
        return identity.cluster == mapper.cluster and is_named

    def renew_leases(self) -> None:
        """Renew the leases now; before that, ask whether the log has what it had.

        Not once the turn's thread has died: nothing is written here any more, so others take over.
        """
        if self._thread.ident is not None and not self._thread.is_alive():
            return
        self._setting_back.look()
        self._parts.leases.renew()

    def keep_leases(self) -> None:
        """Carry out the duty of renewing the leases when it is time to."""
        if self._parts.leases.is_due():
            self.renew_leases()

    def knows_all(self) -> bool:
        """Return whether all objects were listed, so that jobs could be taken up."""
        return self.kinds.needs_no_look and self._parts.synced.all.is_set()

    def look_around(self) -> None:
        """Carry out the duty of asking for what the log knows and no watch shows.

        What was made and went within a gap of a watch is told by nobody.
        """
        if self.takeover.is_open and not self._stopping.is_set():
            self.kinds.ask()
            logged: set[Fault] = set()
            for slot in self._parts.slots:
                if (identity := slot.view.state.identity) is not None:
                    with apart(identity, logged):
                        self._seek_absent(slot)

    def sum_up(self) -> None:
        """Carry out the duty of telling the log what was seen unchanged for a while."""
        parts = self._parts
        sum_up(parts.handlers, parts.slots, parts.clock.now())
