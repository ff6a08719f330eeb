"""An APScheduler job store that reads pending decisions and owns no data.

APScheduler as shipped drops what is overdue, removes a job when it is handed out rather than when
it is done, and
loses its thread to one exception of a store. This store therefore never raises, never drops and
never removes: a
decision stays due until the log says that it fired or was cancelled. Handed-out decisions are
remembered so that they
are not handed out twice at once; one that is not dealt with within a minute is handed out again,
ever more seldom.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from apscheduler.job import Job
from apscheduler.jobstores.base import BaseJobStore
from apscheduler.triggers.date import DateTrigger

from jobledger.adapters.scheduler.handed_out import Account, HandedOut
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import LedgerError
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.pending import Look, PendingDecisions
from jobledger.core.values.ids import DecisionId
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

IN_FLIGHT_MAX = 256
"""How many decisions may be handed out and not yet dealt with."""

SLEEP_MAX = timedelta(seconds=30)
"""Longest sleep, so that a stepped clock or a lost wake-up cannot hurt for long."""

ERROR_PAUSE = timedelta(seconds=1)

LOOK_AHEAD = timedelta(seconds=1)
"""What falls due so soon after a look is read with it."""

SPARE_TIME = timedelta(milliseconds=5)
"""A look takes less, mostly: it is taken where nothing falls due before."""


class Ahead:
    """Pending decisions up to an instant, as the last look has shown them. For one thread."""

    def __init__(self) -> None:
        self._rows: deque[DecisionRow] = deque()
        self.until: Instant | None = None
        """Nothing else falls due before this instant; None while that is not known."""

    @property
    def next_at(self) -> Instant | None:
        """When something is to be done: a decision falls due, or the ledger has to be asked."""
        return self._rows[0].due_at if self._rows else self.until

    def replace(self, rows: Sequence[DecisionRow], until: Instant | None) -> None:
        """Take what a look has shown, what falls due first in front; not from `until` on."""
        self._rows = deque(row for row in rows if until is None or row.due_at < until)
        self.until = until

    def take(self, now: Instant) -> list[DecisionRow]:
        """Hand over what is due."""
        due = []
        while self._rows and self._rows[0].due_at <= now:
            due.append(self._rows.popleft())
        return due

    def learn(self, due_at: Instant) -> bool:
        """Take note of a decision that falls due then; return whether that is the next to come.

        It is not known itself, so from then on the ledger has to be asked.
        """
        if self.until is None or due_at >= self.until:
            return False
        is_next = self.next_at is None or due_at < self.next_at
        self.replace(tuple(self._rows), due_at)
        return is_next

    def forget(self, decision: DecisionId) -> None:
        """Leave out a decision that has been dealt with before it was due."""
        if any(row.decision_id == decision for row in self._rows):
            self._rows = deque(row for row in self._rows if row.decision_id != decision)


def _known_until(look: Look, now: Instant) -> Instant:
    """Return before when nothing falls due that a look has not shown."""
    latest = now + SLEEP_MAX
    return latest if look.next_due_at is None else min(look.next_due_at, latest)


class DecisionJobStore(BaseJobStore):  # type: ignore[misc]  # apscheduler has no types
    """The pending decisions of our shards, as jobs that are due once."""

    def __init__(
        self,
        pending: PendingDecisions,
        clock: Clock,
        shards: Callable[[], Collection[int]],
        carry_out: Callable[[DecisionRow], None],
    ) -> None:
        super().__init__()
        self._pending = pending
        self._clock = clock
        self._shards = shards
        self._carry_out = carry_out
        self._not_read = Repeated(log, "decisions_not_read", clock.monotonic)
        self._lock = threading.Lock()
        self._handed_out = HandedOut()
        self._ahead = Ahead()
        self._must_look = True
        """Something may have changed since the ledger was last asked."""
        self._dealt_with: set[DecisionId] | None = None
        """What was dealt with while the ledger is asked; None while it is not."""
        self._looked = clock.monotonic()

    def get_due_jobs(self, now: datetime) -> list[Job]:
        """Return due decisions that are not handed out.

        As many as there is room for: the earliest of those that were never handed out, then those
        that were, in vain.
        """
        if self._must_ask():
            self._ask()
        with self._lock:
            due = self._ahead.take(self._clock.now())
        shards = self._shards() if due else ()
        due = [row for row in due if row.shard in shards]  # others may have been given away
        self._handed_out.add([row.decision_id for row in due], self._clock.monotonic())
        return [self._job(row, now) for row in due]

    def _must_ask(self) -> bool:
        """Return whether what is due is not known without asking the ledger."""
        rested = self.seconds_since_look()
        with self._lock:
            until = self._ahead.until
            is_known = until is not None and self._clock.now() < until and not self._must_look
        return not is_known or rested >= SLEEP_MAX.total_seconds()

    def _ask(self) -> None:
        """Ask the ledger what falls due until a moment from now; nothing is known if it fails."""
        with self._lock:
            self._ahead.replace((), None)
            self._must_look, self._dealt_with = False, set()
        self._looked = self._clock.monotonic()
        account = self._handed_out.account(self._looked)
        room, now = IN_FLIGHT_MAX - len(account.in_flight), self._clock.now()
        look = self._read(now, room, account) if room > 0 else None
        with self._lock:
            gone, self._dealt_with = self._dealt_with or set(), None
            if look is None:
                return
            rows = [row for row in look.due if row.decision_id not in gone]
            soon = [row for row in rows if row.due_at > now]
            if len(look.due) < room:
                until: Instant | None = _known_until(look, now)
            else:
                until = soon[-1].due_at if soon else None
            self._ahead.replace([row for row in rows if row.due_at <= now] + soon, until)

    def _read(self, now: Instant, room: int, account: Account) -> Look | None:
        """Return what the ledger shows; None, and the log is told, if it cannot be read."""
        try:
            look = self._look(now, room, account)
        except LedgerError as error:
            self._not_read.warn(error)
            return None
        except Exception:  # whatever it was: the engine goes on, and looks again
            log.exception("decisions_not_read")
            return None
        self._not_read.over()
        return look

    def get_next_run_time(self) -> datetime | None:
        """Return when to look again.

        The engine sleeps by the machine's clock; how long, follows from the clock of the service.
        While there is no room, whoever deals with a decision wakes us.
        """
        engine_now = datetime.now(UTC)
        try:
            return engine_now + self._pause()
        except LedgerError as error:
            self._not_read.warn(error)
        except Exception:  # it would end the engine's thread
            log.exception("decisions_not_read")
        return engine_now + ERROR_PAUSE

    def _look(self, now: Instant, room: int, account: Account) -> Look:
        shards, besides = self._shards(), account.in_flight | account.waiting
        look = self._pending.look(now + LOOK_AHEAD, shards, room, besides | account.again)
        left = room - len(look.due)
        if not account.again or not left:
            return look
        besides |= {row.decision_id for row in look.due}
        others = self._pending.look(now, shards, left, besides)
        return Look(due=[*look.due, *others.due], next_due_at=others.next_due_at)

    def _pause(self) -> timedelta:
        """Return how long to sleep. Until it is known, every decision needs a wake-up."""
        now = self._clock.now()
        if self._is_time_to_ask(now):
            self._ask()
        with self._lock:
            next_at = self._ahead.next_at
        if next_at is None:
            account = self._handed_out.account(self._clock.monotonic())
            if len(account.in_flight) >= IN_FLIGHT_MAX:
                return SLEEP_MAX
            besides = account.in_flight | account.waiting
            next_at = _known_until(self._pending.look(now, self._shards(), 0, besides), now)
            with self._lock:
                self._ahead.replace((), next_at)
        return min(max(next_at - now, timedelta()), SLEEP_MAX)

    def _is_time_to_ask(self, now: Instant) -> bool:
        """Return whether what is known ends soon, and nothing falls due just now.

        Asked at the end of it, the ledger would keep waiting what falls due there.
        """
        with self._lock:
            next_at, until = self._ahead.next_at, self._ahead.until
        if next_at is None or until is None or next_at >= until:
            return False
        return until - now < LOOK_AHEAD / 2 and next_at - now >= SPARE_TIME

    def needs_wake(self, due_at: Instant | None) -> bool:
        """Take note of a decision due then; return whether sleeping on would miss it.

        None: anything may have changed.
        """
        with self._lock:
            if due_at is None or self._ahead.until is None:
                self._must_look = True
                return True
            return self._ahead.learn(due_at)

    def dealt_with(self, decision_id: DecisionId) -> bool:
        """Forget that a decision was handed out; return whether there was no room before."""
        with self._lock:
            self._ahead.forget(decision_id)
            if self._dealt_with is not None:
                self._dealt_with.add(decision_id)
        return self._handed_out.forget(decision_id) >= IN_FLIGHT_MAX

    def forget_waits(self) -> None:
        """Let nothing that was handed out in vain wait any longer than a minute."""
        self._handed_out.forget_waits()

    def seconds_since_look(self) -> float:
        """Return how long ago the store was last asked for due decisions."""
        return self._clock.monotonic() - self._looked

    def lookup_job(self, job_id: str) -> Job | None:
        """Return a pending decision by its id."""
        return next((job for job in self.get_all_jobs() if job.id == job_id), None)

    def get_all_jobs(self) -> list[Job]:
        """Return pending decisions, earliest first, for whoever lists APScheduler's jobs."""
        try:
            rows = self._pending.pending(self._shards(), IN_FLIGHT_MAX)
        except LedgerError as error:
            self._not_read.warn(error)
            return []
        except Exception:  # whoever only lists must not be hurt
            log.exception("decisions_not_read")
            return []
        return [self._job(row, row.due_at) for row in rows]

    def add_job(self, job: Job) -> None:
        """Refuse: a decision is born from an event, never here."""
        raise RuntimeError(f"{job}: decisions are scheduled by events only")

    def update_job(self, job: Job) -> None:
        """Do nothing: the row changes with the event that ends the decision."""

    def remove_job(self, job_id: str) -> None:
        """Do nothing: the row changes with the event that ends the decision."""

    def remove_all_jobs(self) -> None:
        """Do nothing: decisions are ended by events only."""

    def _job(self, row: DecisionRow, now: datetime) -> Job:
        """Return the job of a decision.

        It is made without APScheduler's checks, which pickle and inspect.
        """
        due_at = min(row.due_at, now)
        job: Any = Job.__new__(Job)
        job._scheduler = self._scheduler  # noqa: SLF001 what Job.__init__ would set
        job._jobstore_alias = self._alias  # noqa: SLF001 what Job.__init__ would set
        job.id = str(row.decision_id)
        job.name = f"{row.kind} of {row.stream_id}"
        job.trigger = DateTrigger(due_at, UTC)  # else the machine's, which it may not know
        job.executor = "decisions"
        job.func = self._carry_out
        job.func_ref = None
        job.args, job.kwargs = (row,), {}
        job.misfire_grace_time = None
        job.coalesce = True
        job.max_instances = 1
        job.next_run_time = due_at
        return job
