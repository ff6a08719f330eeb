"""How late decisions fire: from the instant they are due until `DecisionFired` is committed.

The real alarms, the real turn in its thread, a durable Postgres; nothing is carried out, because
only the way from the clock to the log is measured. Beside the decisions that fire there are many
that are due another day. The service's clock is set so that the first is due soon.
"""

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry
from sqlalchemy import Engine

from bench.figures import Report
from bench.filling import append_all
from bench.manifests import rayjob
from bench.story import Story
from bench.throwaway import ACTOR, LEASE, Server, ledger_engine, postgres
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.log.history import PostgresHistory
from jobledger.adapters.postgres.log.leases import PostgresLeases
from jobledger.adapters.postgres.log.pending import PostgresPendingDecisions
from jobledger.adapters.scheduler.alarms import SchedulerAlarms
from jobledger.adapters.service.loop.turn import Turn, TurnParts
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.prepared import Prepared
from jobledger.adapters.service.work.slots import Slot, Slots
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.jobs.events import DecisionFired
from jobledger.core.jobs.observations import DecisionDue
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.projections.view import View, advance
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.values.ids import SHARDS, StreamId, observation_id
from jobledger.core.values.instants import Instant

PENDING = (0, 10_000, 100_000)
PENDING_FULL = 1_000_000
PER_SECOND = 100
SECONDS = 10
LEAD = timedelta(seconds=2)
"""From the start of the alarms until the first decision is due."""

LIMIT_SECONDS = 60.0
"""How long the last may take after it was due."""

TTL_SECONDS = 3600
ENDED = "ended"
"""The database that each measurement starts with a copy of."""

_PENDING_ROWS = """
INSERT INTO decision
SELECT gen_random_uuid(), gen_random_uuid(), n %% 16, 1, 'ttl_shutdown', 'pending',
       now() + interval '1 day' + n * interval '1 second', now(), NULL,
       'ttlSecondsAfterFinished 86400', ''
FROM generate_series(1, %s) AS n
"""


def measure(report: Report) -> None:
    """Measure with more and more decisions pending, idle and beside a busy thread."""
    report.setting("firing", f"{PER_SECOND} per second for {SECONDS} s, ttl_shutdown")
    sizes = (*PENDING, *((PENDING_FULL,) if report.full else ()))
    with postgres(report) as server:
        first_due = _prepare(report, server)
        for pending in sizes:
            for busy in (False, True):
                name = f"{pending:,} pending, {'busy' if busy else 'idle'}"
                database = f"late_{pending}_{'busy' if busy else 'idle'}"
                server.copy_of(ENDED, database)
                report.say(name)
                late = _measure(server, database, pending, first_due, busy=busy)
                report.percentiles(name, [value * 1e3 for value in late], "ms")


def _prepare(report: Report, server: Server) -> Instant:
    """Append jobs whose shutdown is due one after the other; return when the first is."""
    count = PER_SECOND * SECONDS
    report.say(f"preparing {count} jobs that have ended")
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    stories = [
        Story(f"ended-{n}", start + timedelta(seconds=n / PER_SECOND), rayjob(f"ended-{n}"))
        for n in range(count)
    ]
    for story in stories:
        story.ttl_seconds = TTL_SECONDS
    url = server.database(ENDED)
    with ledger_engine(url) as engine:
        append_all(engine, [(story, list(story.until_complete())) for story in stories])
    due = [decision.due_at for story in stories for decision in story.state.decisions]
    assert len(due) == count, "each job has one decision pending"
    return min(due)


def _measure(
    server: Server, database: str, pending: int, first_due: Instant, *, busy: bool
) -> list[float]:
    """Return the lateness of each decision, in seconds."""
    with server.admin(database) as admin:
        admin.execute(_PENDING_ROWS, (pending,))
        admin.execute("VACUUM ANALYZE decision")
    server.checkpoint()
    with ledger_engine(server.url(database)) as engine:
        clock = ShiftedClock()
        firing = Firing(engine, clock)
        clock.set(first_due - LEAD)
        return firing.run(PER_SECOND * SECONDS, busy=busy)


class ShiftedClock(SystemClock):
    """The machine's clock, set forward or back."""

    def __init__(self) -> None:
        self._shift = timedelta()

    def set(self, now: Instant) -> None:
        """Let it be that instant now."""
        self._shift = now - super().now()

    def now(self) -> Instant:
        """Return the shifted instant."""
        return super().now() + self._shift


@dataclass(slots=True)
class Follower:
    """Takes note of firings, as the service's own follower does; carries nothing out."""

    alarms: SchedulerAlarms
    clock: SystemClock
    wanted: int
    late: list[float] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def after_append(self, prepared: Prepared) -> None:
        """Take note of the decisions that were committed just now."""
        now = self.clock.now()
        for event in prepared.events:
            if isinstance(event, DecisionFired):
                self.late.append((now - event.due_at).total_seconds())
                self.alarms.done(event.decision_id)
        if len(self.late) >= self.wanted:
            self.done.set()

    def resume(self, slot: Slot) -> None:
        """Do nothing: there are no conflicts."""

    def retired(self, stream: StreamId) -> None:
        """Do nothing: nothing is under way."""


class Firing:
    """Alarms, turn and ledger, as the service puts them together."""

    def __init__(self, engine: Engine, clock: SystemClock) -> None:
        self._clock, self._inbox, self._stopping = clock, Inbox(), threading.Event()
        leases = LeaseKeeper(PostgresLeases(engine), clock, ACTOR, LEASE.total_seconds())
        leases.renew()
        leases.take_up(leases.held())
        store = PostgresEventStore(engine, clock.now)
        slots = Slots(store)
        slots.load(PostgresHistory(engine).open_streams(range(SHARDS)))
        self._alarms = SchedulerAlarms(PostgresPendingDecisions(engine), clock, leases.shards)
        self._parts = TurnParts(
            store=store,
            slots=slots,
            inbox=self._inbox,
            confirmations=Confirmations(),
            epochs=leases,
            clock=clock,
            metrics=Metrics(CollectorRegistry()),
            actor=ACTOR,
            pause=self._stopping.wait,
        )

    def run(self, count: int, *, busy: bool) -> list[float]:
        """Let the decisions fire; return how late each was."""
        follower = Follower(self._alarms, self._clock, count)
        turn = Turn(self._parts, follower)
        threads = [threading.Thread(target=self._take_turns, args=(turn,), daemon=True)]
        if busy:
            threads.append(threading.Thread(target=self._be_busy, daemon=True))
        for thread in threads:
            thread.start()
        self._alarms.start(self._on_due)
        limit = LEAD.total_seconds() + count / PER_SECOND + LIMIT_SECONDS
        finished = follower.done.wait(limit)
        self._alarms.stop()
        self._stopping.set()
        self._inbox.close()
        for thread in threads:
            thread.join(LIMIT_SECONDS)
        if not finished:
            raise TimeoutError(f"only {len(follower.late)} of {count} decisions fired")
        return follower.late

    def _take_turns(self, turn: Turn) -> None:
        while not self._stopping.is_set():
            turn.run_once()

    def _be_busy(self) -> None:
        """Fold a story for ever: a thread that never waits."""
        events: list[RayJobEvent] = []
        for item in Story("busy", datetime.now(UTC), {}).whole():
            events += item.events
        while not self._stopping.is_set():
            advance(View(), events)

    def _on_due(self, row: DecisionRow) -> None:
        """Tell the turn, as the controller does."""
        mark = observation_id(row.stream_id, "due", str(row.decision_id), "False")
        at = max(self._clock.now(), row.due_at)
        due = DecisionDue(id=mark, at=at, decision_id=row.decision_id)
        self._inbox.put(row.stream_id, due)
