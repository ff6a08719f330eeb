"""Verifies the log: every chain, every stream head, every position.

Faults that this finds: a changed payload or envelope, a missing, inserted or swapped row, a stream
cut off at its end, a stream that is gone, positions that are not 1, 2, 3 …. What it cannot find
alone: two events of different streams that swapped positions, and a stream removed together with
its head, with all positions after it renumbered, or computed anew from link to link. The seals find
those: `core.forensics.seals.sealing`.
"""

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy import Connection, Engine, Row, Select, Text, cast, func, select, text
from sqlalchemy.dialects.postgresql import JSONB

from jobledger.adapters.postgres.connection.answer_limit import unhurried
from jobledger.adapters.postgres.connection.engine import EngineOptions, open_engine
from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.schema.stored_events import EVENTS, stored_events
from jobledger.adapters.postgres.schema.tables import event, log_head
from jobledger.adapters.postgres.verifying.rows import Counted, Range, Suspect, split, suspects
from jobledger.adapters.process.interpreter import collect_seldom
from jobledger.core.forensics.foreign import NOT_ONE_OF_OURS, said
from jobledger.core.log.chain import GENESIS, is_hash_of, link
from jobledger.core.log.envelope import EventRecord
from jobledger.core.values.counted import counted
from jobledger.core.values.ids import StreamId

PROCESS_EVENTS = 100_000
"""A process of its own is worth its start from so many events on."""

_LAST = (1 << 63) - 1

_BY_INDEX, _AS_BEFORE = (text(f"SET LOCAL enable_sort TO {how}") for how in ("off", "DEFAULT"))
"""The order of streams and versions is an index's. Where all rows are read anyway, sorting them as
they are, payloads and all, costs as much again as reading them by it."""

_POSITIONS = text("""
    WITH gone AS MATERIALIZED (
        SELECT coalesce(range_agg(r), '{}') AS positions FROM archive a, unnest(a.positions) AS r
    )
    SELECT position, before FROM (
        SELECT position, lag(position, 1, CAST(:first - 1 AS bigint)) OVER (ORDER BY position)
            AS before FROM event WHERE position BETWEEN :first AND :last
    ) AS steps
    WHERE position <= before OR (
        position > before + 1
        AND NOT int8range(before + 1, position) <@ (SELECT positions FROM gone)
    )
    ORDER BY position LIMIT 1
""")
"""Steps that are none: back, on the spot, or over positions of which no archive record speaks."""

_ARCHIVED = text("""
    SELECT coalesce(sum(upper(r) - lower(r)), 0) - (
        SELECT count(*) FROM archived_stream a JOIN stream s USING (stream_id)
        JOIN event e ON e.stream_id = a.stream_id AND e.version <= a.version
        WHERE e.position BETWEEN :first AND :last
    )
    FROM archive a, unnest(a.positions * int8multirange(int8range(:first, :last, '[]'))) AS r
""")
"""How many events of a range have left the log; those of jobs that are still there have not."""

_HEADS = text("""
    SELECT stream_id, coalesce(s.version, 0) AS head, coalesce(e.version, 0) AS last, e.position
    FROM stream AS s
    FULL JOIN (
        SELECT DISTINCT ON (stream_id) stream_id, version, chain, position
        FROM event ORDER BY stream_id, version DESC
    ) AS e USING (stream_id)
    WHERE s.version IS DISTINCT FROM e.version OR s.chain IS DISTINCT FROM e.chain
        OR s.shard <> shard_of_v1(stream_id)
    ORDER BY stream_id LIMIT 1
""")


class FaultKind(StrEnum):
    """What can be wrong; the first of each kind is reported."""

    UNREADABLE = "unreadable"
    """A value of the row is beyond all that an event can hold; its hashes are not judged."""
    PAYLOAD = "payload"
    LINK = "link"
    VERSION = "version"
    ORDER = "order"
    HEAD = "head"
    POSITION = "position"
    LOG_HEAD = "log head"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is not as it was written."""

    kind: FaultKind
    position: int
    """Position of the event, or where one is missing; 0 where there is none to name."""
    stream_id: StreamId | None
    version: int
    """Version in the stream; 0 where the fault is in no stream."""
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much is walked."""

    first: int = 1
    """First position."""
    last: int = _LAST
    """Last position."""
    processes: int = 1
    """At most so many processes share the work."""

    @property
    def is_all(self) -> bool:
        """Return whether it is the whole log."""
        return self.first <= 1 and self.last == _LAST


WHOLE = Extent()


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What a walk over the log, or a part of it, found."""

    events: int
    streams: int
    archived: int
    """Events of the extent that have left the log for an archive, by the records of it."""
    faults: tuple[Fault, ...]
    """The first of each kind, in the order they were found."""

    @property
    def fault(self) -> Fault | None:
        """The first fault, or None: the log is whole."""
        return self.faults[0] if self.faults else None


Progress = Callable[[int, int], None]


def verify(engine: Engine, progress: Progress, extent: Extent = WHOLE) -> VerifyReport:
    """Walk the log as it is at this moment and tell what is wrong with it.

    `progress` is told how many events were checked, of how many.
    """
    with ledger_errors(engine.url), engine.connect() as pooled:
        connection = pooled.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            connection.execute(text("SET TRANSACTION READ ONLY"))
            with unhurried(connection):
                return _Walk(connection, progress, extent).run()


@dataclass(slots=True)
class _Found:
    """What one part of a walk found."""

    counted: Counted
    faults: list[Fault] = field(default_factory=list)


class _Walk:
    """One walk: what was seen so far."""

    def __init__(self, connection: Connection, progress: Progress, extent: Extent) -> None:
        self._connection = connection
        self._progress = progress
        self._extent = extent
        self._faults: dict[FaultKind, Fault] = {}
        self._archived = 0

    def run(self) -> VerifyReport:
        between = event.c.position.between(self._extent.first, self._extent.last)
        total: int = self._one(select(func.count()).select_from(event).where(between))[0]
        found = self._in_processes(total) if self._shares(total) > 1 else self._here(total)
        for fault in found.faults:
            self._faults.setdefault(fault.kind, fault)
        if self._extent.is_all:
            self._check_heads()
        self._check_positions(total)
        return VerifyReport(
            events=found.counted.events,
            streams=found.counted.streams,
            archived=self._archived,
            faults=tuple(self._faults.values()),
        )

    def _shares(self, total: int) -> int:
        return max(1, min(self._extent.processes, total // PROCESS_EVENTS))

    def _here(self, total: int) -> _Found:
        everything = split((), 1)[0]
        return _walk_part(
            self._connection, self._range(everything), lambda done: self._progress(done, total)
        )

    def _range(self, streams: tuple[UUID, UUID]) -> Range:
        after, until = streams
        extent = self._extent
        return Range(after=after, until=until, first=extent.first, last=extent.last)

    def _in_processes(self, total: int) -> _Found:
        """Let processes walk parts of the streams, all in the snapshot of this transaction."""
        shares = self._shares(total)
        snapshot = self._connection.execute(text("SELECT pg_export_snapshot()")).scalar_one()
        heads = select(text("stream_id")).select_from(text("stream")).order_by(text("1"))
        parts = split([row[0] for row in self._connection.execute(heads)], shares)
        url = self._connection.engine.url.render_as_string(hide_password=False)
        whole, context = _Found(Counted(told=_silent)), multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(shares, mp_context=context, initializer=collect_seldom) as pool:
            started = {
                pool.submit(_walk_apart, url, snapshot, self._range(part)): number
                for number, part in enumerate(parts)
            }
            ended: dict[int, _Found] = {}
            for future in as_completed(started):
                found = ended[started[future]] = future.result()
                whole.counted.events += found.counted.events
                whole.counted.streams += found.counted.streams
                self._progress(whole.counted.events, total)
        whole.faults = [fault for number in sorted(ended) for fault in ended[number].faults]
        return whole

    def _check_heads(self) -> None:
        row = self._connection.execute(_HEADS).mappings().first()
        if row is not None:
            what = (
                f"the stream should end with version {row['head']} and ends with {row['last']}"
                if row["head"] != row["last"]
                else "what is recorded of the stream's end is not its end"
            )
            self._add(
                Fault(
                    kind=FaultKind.HEAD,
                    position=row["position"] or 0,
                    stream_id=row["stream_id"],
                    version=row["last"],
                    what=what,
                )
            )

    def _check_positions(self, total: int) -> None:
        extent = self._extent
        between = {"first": extent.first, "last": extent.last}
        row = self._connection.execute(_POSITIONS, between).mappings().first()
        if row is not None:
            what = f"position {row['position']} follows position {row['before']}"
            self._add(_in_no_stream(FaultKind.POSITION, row["before"] + 1, what))
        found = self._connection.execute(select(log_head.c.single, log_head.c.position)).all()
        heads: dict[bool, int] = {row.single: row.position for row in found}
        if False in heads:
            what = f"the table log_head has a second row, with position {heads[False]}"
            self._add(_in_no_stream(FaultKind.LOG_HEAD, 0, what))
        if True not in heads:
            what = "the table log_head has no row: where the log ends is not known"
            self._add(_in_no_stream(FaultKind.LOG_HEAD, 0, what))
            return
        head = heads[True]
        upto = min(head, extent.last, _LAST - 1)  # a range ends one after its last
        expected = max(0, upto - extent.first + 1)
        if expected:
            inside = {"first": extent.first, "last": upto}
            self._archived = int(self._connection.execute(_ARCHIVED, inside).scalar_one())
            expected -= self._archived
        if expected != total:
            whole = extent.is_all
            should = counted(expected, "event")
            what = f"the log should have {should} {'' if whole else 'here '}and has {total}"
            place = extent.first + min(expected, total) + self._archived
            self._add(_in_no_stream(FaultKind.LOG_HEAD, place, what))
        self._check_end(head)

    def _check_end(self, head: int) -> None:
        """Find that the log ends before what was asked for: it may have been cut off there.

        The position after the last one may be the first: nothing was appended since.
        """
        wanted = self._extent.last if self._extent.last != _LAST else self._extent.first - 1
        if wanted > head:
            what = f"the log ends with position {head} and should reach {wanted} at least"
            self._add(_in_no_stream(FaultKind.LOG_HEAD, head + 1, what))

    def _add(self, fault: Fault) -> None:
        self._faults.setdefault(fault.kind, fault)

    def _one(self, query: Select[Any]) -> Row[Any]:
        return self._connection.execute(query).one()


def _walk_apart(url: str, snapshot: str, wanted: Range) -> _Found:
    """Walk a part in a process of its own."""
    engine = open_engine(url, EngineOptions(pool_size=1, statement_timeout_seconds=0))
    try:
        with ledger_errors(engine.url), engine.connect() as pooled:
            connection = pooled.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                connection.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
                return _walk_part(connection, wanted, _silent)
    finally:
        engine.dispose()


def _walk_part(connection: Connection, wanted: Range, told: Callable[[int], None]) -> _Found:
    found = _Found(Counted(told=told))
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    if wanted.first <= 1 and wanted.last == _LAST:
        connection.execute(_BY_INDEX)
    noted = list(suspects(raw, wanted, found.counted))
    connection.execute(_AS_BEFORE)
    kinds: set[FaultKind] = set()
    for suspect in noted:
        for fault in _judge(connection, suspect):
            if fault.kind not in kinds:
                kinds.add(fault.kind)
                found.faults.append(fault)
    told(found.counted.events)
    found.counted.told = _silent
    return found


def _silent(_: int) -> None:
    """Tell nobody: what a process hands back must not hold on to who was told."""


def _judge(connection: Connection, suspect: Suspect) -> Iterator[Fault]:
    """Yield what is wrong with a row, by the rules of `core.log.chain`."""
    here = event.c.stream_id == suspect.stream
    before = connection.execute(
        select(event.c.version, event.c.chain, event.c.position)
        .where(here, event.c.version < suspect.version)
        .order_by(event.c.version.desc())
        .limit(1)
    ).one_or_none()
    last_version, last_chain = (before.version, before.chain) if before else (0, GENESIS)
    follows = suspect.version == last_version + 1
    if not follows:
        what = f"version {suspect.version} follows version {last_version}"
        yield _fault(FaultKind.VERSION, suspect, what)
    itself = EVENTS.where(here, event.c.version == suspect.version)
    try:
        (record,) = (stored.record for stored in stored_events(connection, itself))
        is_linked = not follows or link(last_chain, record) == record.chain
        wrong = _wrong_with_payload(connection, itself, record)
    except (psycopg.DataError, *NOT_ONE_OF_OURS) as error:
        what = str(error) if isinstance(error, psycopg.DataError) else said(error)
        yield _fault(FaultKind.UNREADABLE, suspect, f"a value is none that was written: {what}")
        is_linked, wrong = True, ""
    if not is_linked:
        yield _fault(FaultKind.LINK, suspect, "the link does not continue the chain")
    if wrong:
        yield _fault(FaultKind.PAYLOAD, suspect, wrong)
    if before and suspect.position <= before.position:
        what = f"its position is not after {before.position}, where its predecessor is"
        yield _fault(FaultKind.ORDER, suspect, what)


def _wrong_with_payload(connection: Connection, itself: Select[Any], record: EventRecord) -> str:
    """Return what is wrong with the payload of a row; empty if nothing is."""
    if not is_hash_of(record.data_sha, record.payload):
        return "the payload does not have the recorded hash"
    kept = cast(event.c.data, Text)
    is_as_jsonb = itself.with_only_columns(kept == cast(cast(event.c.data, JSONB), Text))
    if sha256(record.payload).digest() == record.data_sha or connection.scalar(is_as_jsonb):
        return ""
    return "the payload says what was recorded, but not in the text that was written"


def _fault(kind: FaultKind, suspect: Suspect, what: str) -> Fault:
    return Fault(
        kind=kind,
        position=suspect.position,
        stream_id=StreamId(suspect.stream),
        version=suspect.version,
        what=what,
    )


def _in_no_stream(kind: FaultKind, position: int, what: str) -> Fault:
    return Fault(kind=kind, position=position, stream_id=None, version=0, what=what)
