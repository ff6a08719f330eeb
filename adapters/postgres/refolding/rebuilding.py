"""Recomputes the projections job by job and compares them with the stored tables."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from msgspec.structs import asdict

from jobledger.core.catalogue import read_event
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow, RowChanges
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.history import History, JobFilter
from jobledger.core.ports.projections import Projections
from jobledger.core.projections.differences import Difference, Key, differences
from jobledger.core.projections.view import View, advance
from jobledger.core.values.ids import StreamId

TRIES_MAX = 5
"""How often a job that moves on meanwhile is folded again."""


class LedgerParts(Protocol):
    """What rebuilding needs of a ledger."""

    @property
    def store(self) -> EventStore:
        """The log."""

    @property
    def history(self) -> History:
        """The rows."""

    @property
    def projections(self) -> Projections:
        """What replaces rows."""


Row = JobRow | AttemptRow | DecisionRow | EffectRow


def fold_rows(store: EventStore, stream: StreamId) -> tuple[int, RowChanges] | None:
    """Return the version of a stream and all rows that follow from it; None for an empty one."""
    stored = store.read_stream(stream)
    if not stored:
        return None
    _, rows = advance(View(), (read_event(item.record) for item in stored))
    return stored[-1].record.version, rows


def compare(ledger: LedgerParts, stream: StreamId) -> list[Difference]:
    """Return every column of a job's rows that is not what the log says.

    A job that moves on between the two readings is read again.
    """
    for _ in range(TRIES_MAX):
        before = fold_rows(ledger.store, stream)
        found = _stored_rows(ledger.history, stream)
        after = ledger.store.read_stream(stream, before[0] if before is not None else 0)
        if not after:
            return list(_differences(found, before[1] if before is not None else None))
    return []


def replace(ledger: LedgerParts, stream: StreamId) -> list[Difference]:
    """Put the folded rows in place of a job's rows; return what was different."""
    for _ in range(TRIES_MAX):
        expected = fold_rows(ledger.store, stream)
        if expected is None:
            return []
        found = _stored_rows(ledger.history, stream)
        if ledger.projections.replace_rows(stream, *expected):
            return list(_differences(found, expected[1]))
    return []


def _stored_rows(history: History, stream: StreamId) -> dict[Key, Row]:
    jobs = history.jobs(JobFilter(stream_id=stream), 1)
    return by_key(
        jobs, history.attempts(stream), history.decisions(stream), history.effects(stream)
    )


def by_key(
    jobs: Iterable[JobRow],
    attempts: Iterable[AttemptRow],
    decisions: Iterable[DecisionRow],
    effects: Iterable[EffectRow],
) -> dict[Key, Row]:
    """Return rows of a job, each under its table and its key."""
    rows: dict[Key, Row] = {}
    rows |= {("job", str(row.stream_id)): row for row in jobs}
    rows |= {("attempt", f"{row.stream_id} {row.number}"): row for row in attempts}
    rows |= {("decision", str(row.decision_id)): row for row in decisions}
    rows |= {("effect", str(row.effect_id)): row for row in effects}
    return rows


def _differences(found: Mapping[Key, Row], rows: RowChanges | None) -> Iterator[Difference]:
    expected = by_key_of(rows) if rows is not None else {}
    return differences(_columns(found), _columns(expected))


def by_key_of(rows: RowChanges) -> dict[Key, Row]:
    """Return the rows that were folded, as `by_key` does."""
    return by_key([rows.job], rows.attempts, rows.decisions, rows.effects)


def _columns(rows: Mapping[Key, Row]) -> dict[Key, dict[str, object]]:
    return {key: asdict(row) for key, row in rows.items()}
