"""The report projector: reads the log from its checkpoint on and updates the reporting tables.

Rows and checkpoint go into one transaction, so a kill loses and repeats nothing. Any number of
replicas may run one: the checkpoint refuses whoever is behind. A lock saves the work of the others;
as any login may hold it, nobody waits for it while the checkpoint stands still.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.lock_holders import told_holder
from jobledger.adapters.postgres.connection.pooler import owns_session
from jobledger.adapters.postgres.reports.projecting.checkpoint import read_checkpoint, report_lag
from jobledger.adapters.postgres.reports.projecting.rows import events_upto, put_holdable, put_rows
from jobledger.adapters.postgres.schema.stored_events import EVENTS, stored_events
from jobledger.adapters.postgres.schema.tables import event
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.catalogue import read_event
from jobledger.core.errors import BrokenChain, LedgerError
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.projections.reporting.fold import Folded, Rows, Rules, fold, rows_of
from jobledger.core.values.ids import StreamId

log = get_logger(__name__)

BATCH_EVENTS = 500
HELD_JOBS_MAX = 2_000
"""Jobs of which the fold is kept in memory, so that only their new events are read."""

PAUSE_SECONDS = 2.0
"""Between two looks at the log; what comes meanwhile is written at once."""

TROUBLE_SECONDS = 5.0
"""Pause after an error, and before another replica's lock is tried for again."""

SHARE = 3
"""While it has to catch up it pauses so many times as long as it worked."""

START_SECONDS_MAX, LOOK_SECONDS = 60.0, 0.25
"""So long reports wait for a start that is not over, and so often they look whether it is.

What lists jobs and takes them up then has the interpreter for itself.
"""

STILL_SECONDS = 60.0
"""After so long the lock is passed over, if whoever holds it does not carry the tables on."""

_NUMBER = 1246708308
_LOCK = text(f"SELECT pg_try_advisory_lock({_NUMBER}, hashtext(CAST(current_schema() AS text)))")
"""One for each schema: a database may hold several ledgers."""


class _Held(NamedTuple):
    folded: Folded
    rows: Rows


class Projector:
    """Carries the reporting tables on, batch by batch; for one thread."""

    def __init__(self, rules: Rules, batch_events: int = BATCH_EVENTS) -> None:
        self._rules = rules
        self._batch = batch_events
        self._held: OrderedDict[StreamId, _Held] = OrderedDict()
        self._written = 0
        """Position up to which this projector has written last."""

    def step(self, connection: Connection) -> int:
        """Carry the tables on by one batch; return how many events it had, 0 if none is left.

        Raises:
            UnknownEventType: an event was written by a newer version.
            LedgerUnavailable: the database is out of reach; the batch is in, or is not.
        """
        checkpoint = read_checkpoint(connection)
        if checkpoint.position != self._written:  # others wrote; a rebuild may have turned back
            self._held.clear()
        behind = event.c.position > checkpoint.position
        query = EVENTS.where(behind).order_by(event.c.position).limit(self._batch)
        batch = stored_events(connection, query)
        if not batch:
            if checkpoint.head > checkpoint.position:  # what is between has left with an archive
                put_rows(connection, checkpoint.position, checkpoint.head, None, [])
            return 0
        last = batch[-1]
        held = self._advanced(connection, batch, last.position)
        try:
            if not self._put(connection, checkpoint.position, last, held):
                self._held.clear()
                return len(batch)
        except BaseException:
            self._held.clear()  # whether they are in is not known: what is held may not be in
            raise
        self._written = last.position
        self._hold(held)
        return len(batch)

    def _put(
        self, connection: Connection, expected: int, last: StoredEvent, held: dict[StreamId, _Held]
    ) -> bool:
        """Write what is new of jobs; False if another projector went on.

        Jobs that the tables cannot hold are left out, also of `held`: as a whole the next time too.
        """
        changed = [
            now.rows.changed_since(before.rows if before is not None else None)
            for stream, now in held.items()
            for before in (self._held.get(stream),)
        ]
        upto, recorded_at = last.position, last.record.recorded_at

        def put(rows: Sequence[Rows]) -> bool:
            return put_rows(connection, expected, upto, recorded_at, rows)

        moved, fit = put_holdable(connection, changed, put)
        for stream in set(held) - {one.stream_id for one in fit}:
            del held[stream]
            self._held.pop(stream, None)
        return moved

    def _advanced(
        self, connection: Connection, batch: Sequence[StoredEvent], upto: int
    ) -> dict[StreamId, _Held]:
        """Return the jobs of a batch after it; one that cannot be read is left out."""
        news: dict[StreamId, list[StoredEvent]] = {}
        for stored in batch:
            news.setdefault(stored.record.stream_id, []).append(stored)
        missing = [stream for stream, events in news.items() if not self._continues(events[0])]
        whole = events_upto(connection, missing, upto) if missing else {}
        advanced = {}
        for stream, events in news.items():
            before = self._held.get(stream)
            start = Folded() if stream in whole or before is None else before.folded
            folded = folded_from(start, whole.get(stream, events), self._rules)
            if folded is not None:
                advanced[stream] = _Held(folded, rows_of(folded))
        return advanced

    def _continues(self, first: StoredEvent) -> bool:
        """Return whether an event goes on from what is held, or begins its stream."""
        held = self._held.get(first.record.stream_id)
        before = held.folded.version if held is not None else 0
        return first.record.version == before + 1

    def _hold(self, advanced: dict[StreamId, _Held]) -> None:
        for stream, held in advanced.items():
            self._held[stream] = held
            self._held.move_to_end(stream)
        while len(self._held) > HELD_JOBS_MAX:
            self._held.popitem(last=False)


def folded_from(start: Folded, events: Sequence[StoredEvent], rules: Rules) -> Folded | None:
    """Return what is held of a job after more of its events; None for one that cannot be read."""
    try:
        for stored in events:
            start = fold(start, stored.record, read_event(stored.record), rules)
    except BrokenChain as error:
        stream = str(events[0].record.stream_id)
        log.warning("job_not_reported", stream=stream, error=str(error))
        return None
    return start


def catch_up(engine: Engine, rules: Rules, proceed: Callable[[], bool] = lambda: True) -> None:
    """Carry the reporting tables on to the end of the log, without the lock, while `proceed`."""
    projector = Projector(rules)
    with ledger_errors(engine.url), engine.connect() as connection:
        while proceed() and projector.step(connection):
            pass


class ReportService:
    """The thread that runs a projector as long as the service runs."""

    def __init__(
        self,
        engine: Engine,
        rules: Rules,
        told: Callable[[int, float], None] = lambda _events, _seconds: None,
    ) -> None:
        self._engine = engine
        self._rules = rules
        self._told = told
        self._stood = -1, 0.0
        """Where the checkpoint was last seen to move to, and when, in monotonic seconds."""
        self._is_starting: Callable[[], bool] = lambda: False
        self._waits = Repeated(log, "reports_wait", time.monotonic)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reports", daemon=True)

    def start(self, is_starting: Callable[[], bool] = lambda: False) -> None:
        """Start the thread; while the service still starts it waits, for a minute at most."""
        self._is_starting = is_starting
        self._thread.start()

    def stop(self, timeout_seconds: float = 10.0) -> None:
        """Stop after the batch that is under way."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)

    def _run(self) -> None:
        until = time.monotonic() + START_SECONDS_MAX
        while self._is_starting() and time.monotonic() < until and not self._stopping.is_set():
            self._stopping.wait(LOOK_SECONDS)
        while not self._stopping.is_set():
            try:
                self._work()
            except LedgerError as error:
                self._waits.warn(error)
            except Exception:
                log.exception("reports_error")
            self._stopping.wait(TROUBLE_SECONDS)

    def _work(self) -> None:
        """Project while the lock is held; return where another replica holds it."""
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            try:
                self._tell_lag()
                # Through a pooler the lock would stay with a server process that others use too.
                if not owns_session(connection) or connection.execute(_LOCK).scalar_one():
                    self._project(connection)
                elif self._stands_still(connection):
                    told = told_holder(connection, _NUMBER)
                    log.warning("reports_stood_still", seconds=STILL_SECONDS, holder=told)
                    catch_up(self._engine, self._rules, lambda: not self._stopping.is_set())
                    self._tell_lag()
            finally:
                connection.invalidate()  # with the session the lock goes, whatever happened

    def _stands_still(self, connection: Connection) -> bool:
        """Return whether nobody has carried the tables on for long, though there is something."""
        at, now = read_checkpoint(connection), time.monotonic()
        moved, since = self._stood
        if at.position != moved or at.position >= at.head:
            self._stood = at.position, now
            return False
        return now - since >= STILL_SECONDS

    def _tell_lag(self) -> None:
        lag = report_lag(self._engine)
        self._told(lag.events, lag.seconds)

    def _project(self, connection: Connection) -> None:
        projector = Projector(self._rules)
        while not self._stopping.is_set():
            began = time.monotonic()
            done = projector.step(connection)
            self._tell_lag()
            behind = done >= BATCH_EVENTS
            spent = time.monotonic() - began
            self._stopping.wait(min(PAUSE_SECONDS, SHARE * spent) if behind else PAUSE_SECONDS)
