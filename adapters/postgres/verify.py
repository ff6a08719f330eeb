"""Is the log what it was when it was written? Walks every chain, every head and every position.

Faults that this finds: a changed payload or envelope, a missing, inserted or swapped row, a stream
cut off at its end, a stream that is gone, positions that are not 1, 2, 3 …. What it cannot find
alone: two events of different streams that swapped positions, and a stream removed together with
its head, with all positions after it renumbered. The seals find those.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, Row, Select, func, select, text, tuple_

from adapters.postgres.codec import stored_event
from adapters.postgres.errors import ledger_errors
from adapters.postgres.tables import event, log_head
from core.log.chain import GENESIS, data_sha, link
from core.log.envelope import StoredEvent
from core.values.ids import StreamId

_CHUNK_EVENTS = 2000
"""Events that are read at a time; bounds the memory."""

_POSITIONS = text("""
    SELECT position, before FROM (
        SELECT position, lag(position, 1, 0::bigint) OVER (ORDER BY position) AS before FROM event
    ) AS steps
    WHERE position <> before + 1 ORDER BY position LIMIT 1
""")

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
class VerifyReport:
    """What a walk over the whole log found."""

    events: int
    streams: int
    faults: tuple[Fault, ...]
    """The first of each kind, in the order they were found."""

    @property
    def fault(self) -> Fault | None:
        """The first fault, or None: the log is whole."""
        return self.faults[0] if self.faults else None


def verify(engine: Engine, progress: Callable[[int, int], None]) -> VerifyReport:
    """Walk the whole log as it is at this moment and tell what is wrong with it.

    `progress` is told how many events were checked, of how many, after each chunk.
    """
    with ledger_errors(engine.url), engine.connect() as pooled:
        connection = pooled.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            connection.execute(text("SET TRANSACTION READ ONLY"))
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            return _Walk(connection, progress).run()


class _Walk:
    """One walk: what was seen so far."""

    def __init__(self, connection: Connection, progress: Callable[[int, int], None]) -> None:
        self._connection = connection
        self._progress = progress
        self._faults: dict[FaultKind, Fault] = {}

    def run(self) -> VerifyReport:
        total: int = self._one(select(func.count()).select_from(event))[0]
        events = streams = 0
        before: StoredEvent | None = None
        for chunk in self._chunks():
            for stored in chunk:
                if before is None or before.record.stream_id != stored.record.stream_id:
                    streams += 1
                    before = None
                self._check(stored, before)
                before = stored
            events += len(chunk)
            self._progress(events, total)
        self._check_heads()
        self._check_positions(total)
        return VerifyReport(events=events, streams=streams, faults=tuple(self._faults.values()))

    def _chunks(self) -> Iterator[Sequence[StoredEvent]]:
        place = (UUID(int=0), 0)
        while True:
            query = (
                select(event)
                .where(tuple_(event.c.stream_id, event.c.version) > tuple_(*place))
                .order_by(event.c.stream_id, event.c.version)
                .limit(_CHUNK_EVENTS)
            )
            rows = self._connection.execute(query).mappings().all()
            if not rows:
                return
            yield [stored_event(row) for row in rows]
            place = (rows[-1]["stream_id"], rows[-1]["version"])

    def _check(self, stored: StoredEvent, before: StoredEvent | None) -> None:
        record = stored.record
        last_version, last_chain = (
            (before.record.version, before.record.chain) if before else (0, GENESIS)
        )
        if record.version != last_version + 1:
            what = f"version {record.version} follows version {last_version}"
            self._found(FaultKind.VERSION, stored, what)
        elif link(last_chain, record) != record.chain:
            self._found(FaultKind.LINK, stored, "the link does not continue the chain")
        if data_sha(record.data) != record.data_sha:
            self._found(FaultKind.PAYLOAD, stored, "the payload does not have the recorded hash")
        if before and stored.position <= before.position:
            what = f"its position is not after {before.position}, where its predecessor is"
            self._found(FaultKind.ORDER, stored, what)

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
        row = self._connection.execute(_POSITIONS).mappings().first()
        if row is not None:
            what = f"position {row['position']} follows position {row['before']}"
            self._add(_in_no_stream(FaultKind.POSITION, row["before"] + 1, what))
        head: int = self._one(select(log_head.c.position))[0]
        if head != total:
            what = f"the log should have {head} events and has {total}"
            self._add(_in_no_stream(FaultKind.LOG_HEAD, min(head, total) + 1, what))

    def _found(self, kind: FaultKind, stored: StoredEvent, what: str) -> None:
        record = stored.record
        self._add(
            Fault(
                kind=kind,
                position=stored.position,
                stream_id=record.stream_id,
                version=record.version,
                what=what,
            )
        )

    def _add(self, fault: Fault) -> None:
        self._faults.setdefault(fault.kind, fault)

    def _one(self, query: Select[Any]) -> Row[Any]:
        return self._connection.execute(query).one()


def _in_no_stream(kind: FaultKind, position: int, what: str) -> Fault:
    return Fault(kind=kind, position=position, stream_id=None, version=0, what=what)
