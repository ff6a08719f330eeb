"""The alarms of the service: the port `core.ports.alarms` over APScheduler.

APScheduler wakes it when decisions fall due, and for its periodic duties.
"""

import contextlib
import threading
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from time import monotonic

from apscheduler.executors.debug import DebugExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

from jobledger.adapters.scheduler.duties import DutyStore, DutyThreads
from jobledger.adapters.scheduler.job_store import SLEEP_MAX, DecisionJobStore
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.ports.alarms import OnDue
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.pending import PendingDecisions
from jobledger.core.values.ids import DecisionId
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

SILENT_SECONDS_MAX = 90.0
"""An engine that has not looked at the ledger for this long counts as dead."""

STOP_SECONDS_MAX = 5.0
"""How long a stop waits for duties under way.

It is followed by all else that has to be done within the grace of a Pod, thirty seconds.
"""


class _Engine(BackgroundScheduler):  # type: ignore[misc]  # apscheduler has no types
    """APScheduler's engine, which may be stopped while it hands out, whatever the clock does."""

    sleep_seconds_max = SLEEP_MAX.total_seconds()
    """No longer than the shortest interval of a duty."""

    def remove_job(self, job_id: str, jobstore: str | None = None) -> None:
        """Let go of a job that was handed out.

        Once it is being stopped the engine no longer looks into its stores, and would miss there
        what it has just handed out; that has to be no error, for it would end its thread.
        """
        with contextlib.suppress(JobLookupError):
            super().remove_job(job_id, jobstore)

    def _process_jobs(self) -> float:
        """Carry out what is due; return for how many seconds to sleep.

        APScheduler says how long from when it began, so what it took is not slept again. It is the
        difference of two readings of the machine's clock: too long by far, if that is set back in
        between.
        """
        began = monotonic()
        seconds: float | None = super()._process_jobs()
        took, longest = monotonic() - began, self.sleep_seconds_max
        return longest if seconds is None else max(0.0, min(seconds - took, longest))


class SchedulerAlarms:
    """Implements `core.ports.alarms.Alarms` on APScheduler 3.

    Decisions are handed out in the scheduler's own thread (handing out is only a put into a
    queue), duties run in threads of their own, so a slow duty never makes a decision late.
    """

    def __init__(
        self,
        pending: PendingDecisions,
        clock: Clock,
        shards: Callable[[], Collection[int]],
        holds: Callable[[DecisionRow], bool] = lambda _: False,
    ) -> None:
        """Take the pending decisions, the time, the shards held, and which decisions must wait."""
        self._holds = holds
        self._held_back: set[DecisionId] = set()
        self._holding = threading.Lock()
        """Held while `_held_back` is changed; never while others are called."""
        self._lock = threading.Lock()
        self._over = False
        self._on_due: OnDue | None = None
        self._store = DecisionJobStore(pending, clock, shards, self._tell)
        self._threads = DutyThreads()
        self._scheduler = _Engine(
            timezone=UTC,
            jobstores={"decisions": self._store, "duties": DutyStore()},
            executors={"decisions": DebugExecutor(), "duties": self._threads},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )

    def start(self, on_due: OnDue) -> None:
        """Begin to tell, once."""
        with self._lock:
            if self._on_due is None and not self._over:
                self._on_due = on_due
                self._scheduler.start()

    def add_duty(
        self, name: str, duty: Callable[[], None], every: timedelta, *, at_once: bool = False
    ) -> None:
        """Carry out a duty from now on, at each interval; a duty never runs beside itself.

        The first time after one interval, or `at_once` when the engine starts.
        """
        engine = self._scheduler
        engine.sleep_seconds_max = min(engine.sleep_seconds_max, every.total_seconds())
        first = {"next_run_time": datetime.now(UTC)} if at_once else {}
        engine.add_job(
            duty,
            IntervalTrigger(seconds=every.total_seconds(), timezone=UTC),
            id=name,
            jobstore="duties",
            executor="duties",
            **first,
        )

    def wake(self, due_at: Instant | None = None) -> None:
        """Look again, if sleeping on would miss a decision due then.

        None: anything may have changed, so what was told in vain before waits no longer.
        """
        if due_at is None:
            self._store.forget_waits()
            with self._holding:
                held, self._held_back = self._held_back, set()
            for decision in held:
                self._store.dealt_with(decision)  # not yet: so it is told again, at once
        self._wake(due_at)

    def _wake(self, due_at: Instant | None) -> None:
        if self._scheduler.running and self._store.needs_wake(due_at):
            self._scheduler.wakeup()

    def done(self, decision: DecisionId) -> None:
        """Take note that a told decision has been dealt with."""
        if self._store.dealt_with(decision):
            self._wake(None)

    def stop(self) -> None:
        """End; waits for duties under way, for a while. One that takes longer is left behind."""
        with self._lock:
            self._over = True
            if self._scheduler.running:
                self._scheduler.shutdown(wait=False)
                if left := self._threads.wait(STOP_SECONDS_MAX):
                    log.warning("duties_left_behind", duties=left)

    def is_alive(self) -> bool:
        """Return whether the scheduler's thread runs and has looked at the ledger lately."""
        thread = getattr(self._scheduler, "_thread", None)
        silent = self._store.seconds_since_look()
        return thread is not None and thread.is_alive() and silent < SILENT_SECONDS_MAX

    def _tell(self, row: DecisionRow) -> None:
        if self._holds(row):
            with self._holding:
                self._held_back.add(row.decision_id)
            if not self._holds(row):  # whoever says so may have come before it was added
                self.wake()
        elif self._on_due is not None:
            self._on_due(row)
