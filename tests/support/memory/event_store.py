"""In-memory event log with the guarantees of the Postgres one, for tests and the simulator.

It judges each part as `append_v1` does, checks hashes and links, gives dense positions, keeps the
rows of the projections, and hands out what went through JSON, as Postgres would.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from jobledger.core.errors import BrokenChain
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow, RowChanges
from jobledger.core.log.chain import GENESIS, first_fault
from jobledger.core.log.envelope import EventRecord, StoredEvent
from jobledger.core.log.recording import Tail
from jobledger.core.ports.event_store import AppendOutcome, AppendResult, StreamAppend
from jobledger.core.values.ids import DecisionId, EffectId, StreamId, shard_of
from tests.support.memory.leases import MemoryLeases


class MemoryRows:
    """The tables of the inline projections."""

    def __init__(self) -> None:
        self.jobs: dict[StreamId, JobRow] = {}
        self.attempts: dict[tuple[StreamId, int], AttemptRow] = {}
        self.decisions: dict[DecisionId, DecisionRow] = {}
        self.effects: dict[EffectId, EffectRow] = {}

    def put(self, changes: RowChanges) -> None:
        """Put rows in place of their predecessors."""
        self.jobs[changes.job.stream_id] = changes.job
        self.attempts.update({(row.stream_id, row.number): row for row in changes.attempts})
        self.decisions.update({row.decision_id: row for row in changes.decisions})
        self.effects.update({row.effect_id: row for row in changes.effects})

    def drop(self, stream: StreamId) -> None:
        """Forget all rows of a stream."""
        self.jobs.pop(stream, None)
        self.attempts = {key: row for key, row in self.attempts.items() if key[0] != stream}
        self.decisions = {k: row for k, row in self.decisions.items() if row.stream_id != stream}
        self.effects = {k: row for k, row in self.effects.items() if row.stream_id != stream}


class MemoryEventStore:
    """A log, its projections and its lock."""

    def __init__(self, leases: MemoryLeases) -> None:
        self._leases = leases
        self.lock = leases.lock
        self._log: list[StoredEvent] = []
        self._streams: dict[StreamId, list[StoredEvent]] = {}
        self.rows = MemoryRows()

    def append(self, batch: Sequence[StreamAppend]) -> Sequence[AppendResult]:
        """See `core.ports.event_store.EventStore.append`."""
        _require_parts(batch)
        with self.lock:
            outcomes = [self._judge(part) for part in batch]
            taken = [
                (part, self._checked(part))
                for part, outcome in zip(batch, outcomes, strict=True)
                if outcome is AppendOutcome.APPENDED
            ]
            # Nothing is written before everything is checked: one transaction.
            for part, records in taken:
                self._write(part, records)
            return [
                self._result(part.stream_id, outcome)
                for part, outcome in zip(batch, outcomes, strict=True)
            ]

    def read_stream(self, stream: StreamId, after_version: int = 0) -> Sequence[StoredEvent]:
        """See `core.ports.event_store.EventStore.read_stream`."""
        with self.lock:
            return self._streams.get(stream, [])[max(after_version, 0) :]

    def read_streams(self, streams: Sequence[StreamId]) -> Mapping[StreamId, Sequence[StoredEvent]]:
        """See `core.ports.event_store.EventStore.read_streams`."""
        with self.lock:
            return {stream: self.read_stream(stream) for stream in streams}

    def read_rest(
        self, versions: Mapping[StreamId, int]
    ) -> Mapping[StreamId, Sequence[StoredEvent]]:
        """See `core.ports.event_store.EventStore.read_rest`."""
        with self.lock:
            return {stream: self.read_stream(stream, after) for stream, after in versions.items()}

    def read_after(self, position: int, limit: int) -> Sequence[StoredEvent]:
        """See `core.ports.event_store.EventStore.read_after`."""
        with self.lock:
            first = max(position, 0)
            return self._log[first : first + limit]

    def has(self, ends: Sequence[Tail]) -> bool:
        """See `core.ports.event_store.EventStore.has`."""
        with self.lock:
            return all(self._has(end) for end in ends)

    def _has(self, end: Tail) -> bool:
        there = self._streams.get(end.stream_id, [])[: max(end.version, 0)]
        return len(there) == end.version > 0 and there[-1].record.chain == end.chain

    def last_position(self) -> int:
        """See `core.ports.event_store.EventStore.last_position`."""
        with self.lock:
            return len(self._log)

    def replace_rows(self, stream: StreamId, version: int, rows: RowChanges) -> bool:
        """See `core.ports.projections.Projections.replace_rows`."""
        with self.lock:
            written = self._streams.get(stream)
            if not written or len(written) != version:
                return False
            self.rows.drop(stream)
            self.rows.put(rows)
            return True

    def _judge(self, part: StreamAppend) -> AppendOutcome:
        written = self._streams.get(part.stream_id, [])
        first = part.events[0]
        if self._leases.writer(shard_of(part.stream_id)) != (first.actor, first.epoch):
            return AppendOutcome.FENCED
        if len(written) == part.expected_version:
            return AppendOutcome.APPENDED
        there = written[part.expected_version :][: len(part.events)]
        if [stored.record.event_id for stored in there] == [e.event_id for e in part.events]:
            return AppendOutcome.DUPLICATE
        return AppendOutcome.CONFLICT

    def _checked(self, part: StreamAppend) -> list[EventRecord]:
        for offset, record in enumerate(part.events, start=1):
            if record.version != part.expected_version + offset:
                raise BrokenChain(_place(record), "the versions do not follow each other")
        there = {stored.record.event_id for stored in self._streams.get(part.stream_id, ())}
        for record in part.events:
            if record.event_id in there:
                raise BrokenChain(_place(record), "an event with this id is there already")
            there.add(record.event_id)
        fault = first_fault(self._chain(part.stream_id), part.events)
        if fault is not None:
            raise BrokenChain(_place(fault[0]), fault[1])
        _require_storable(part.rows)
        for record in part.events:
            _require_readable(record)
        return list(part.events)

    def _write(self, part: StreamAppend, records: Sequence[EventRecord]) -> None:
        stream = self._streams.setdefault(part.stream_id, [])
        for record in records:
            stored = StoredEvent(position=len(self._log) + 1, record=record)
            self._log.append(stored)
            stream.append(stored)
        self.rows.put(part.rows)

    def _chain(self, stream: StreamId) -> bytes:
        written = self._streams.get(stream)
        return written[-1].record.chain if written else GENESIS

    def _result(self, stream: StreamId, outcome: AppendOutcome) -> AppendResult:
        return AppendResult(
            stream_id=stream,
            outcome=outcome,
            version=len(self._streams.get(stream, ())),
            chain=self._chain(stream),
        )


def _require_parts(batch: Sequence[StreamAppend]) -> None:
    if len({part.stream_id for part in batch}) != len(batch):
        raise ValueError("this batch cannot be appended: a stream occurs twice")
    for part in batch:
        envelopes = {(record.stream_id, record.epoch, record.actor) for record in part.events}
        if len(envelopes) != 1 or {part.stream_id} != {stream for stream, *_ in envelopes}:
            raise ValueError("this batch cannot be appended: a part has foreign events, or none")
        if part.rows.job.shard != shard_of(part.stream_id):
            raise ValueError("this batch cannot be appended: a row is of another shard")


def _require_storable(changes: RowChanges) -> None:
    rows: list[JobRow | AttemptRow | DecisionRow | EffectRow] = [changes.job]
    rows += [*changes.attempts, *changes.decisions, *changes.effects]
    for row in rows:
        for name, value in asdict(row).items():
            if isinstance(value, str) and "\x00" in value:
                raise BrokenChain("append", f"{name} holds a NUL, which Postgres refuses")


_ESCAPED_NUL = rb"\u0000"
"""How a NUL is written in JSON; a backslash before these five characters, too."""


def _require_readable(record: EventRecord) -> None:
    try:
        data = record.data
    except ValueError as error:
        raise BrokenChain(_place(record), f"the payload is no JSON: {error}") from error
    if _ESCAPED_NUL in record.payload and _holds_nul(data):
        raise BrokenChain(_place(record), "the payload holds a NUL, which SQL cannot read")


def _holds_nul(value: object) -> bool:
    if isinstance(value, dict):
        return any(_holds_nul(key) or _holds_nul(item) for key, item in value.items())
    if isinstance(value, list):
        return any(_holds_nul(item) for item in value)
    return isinstance(value, str) and "\x00" in value


def _place(record: EventRecord) -> str:
    return f"stream {record.stream_id} version {record.version}"
