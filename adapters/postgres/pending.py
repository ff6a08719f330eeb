"""Which decisions are due: the port `core.ports.pending` over the table `decision`."""

from collections.abc import Collection, Sequence

from sqlalchemy import ARRAY, Engine, SmallInteger, Uuid, all_, any_, literal, select
from sqlalchemy.sql.elements import ColumnElement

from adapters.postgres.errors import ledger_errors
from adapters.postgres.tables import decision
from core.jobs.rows import DecisionRow
from core.values.ids import DecisionId
from core.values.instants import Instant

_EARLIEST_FIRST = (decision.c.due_at, decision.c.decision_id)


class PostgresPendingDecisions:
    """The pending rows of `decision`; the partial index on `due_at` carries every query."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def due(
        self, now: Instant, shards: Collection[int], limit: int, besides: Collection[DecisionId]
    ) -> Sequence[DecisionRow]:
        """See `core.ports.pending.PendingDecisions.due`."""
        return self._rows(limit, decision.c.due_at <= now, _in_shards(shards), *_none_of(besides))

    def next_due_at(
        self, shards: Collection[int], besides: Collection[DecisionId]
    ) -> Instant | None:
        """See `core.ports.pending.PendingDecisions.next_due_at`."""
        earliest = self._rows(1, _in_shards(shards), *_none_of(besides))
        return earliest[0].due_at if earliest else None

    def pending(self, shards: Collection[int], limit: int) -> Sequence[DecisionRow]:
        """See `core.ports.pending.PendingDecisions.pending`."""
        return self._rows(limit, _in_shards(shards))

    def _rows(self, limit: int, *conditions: ColumnElement[bool]) -> Sequence[DecisionRow]:
        query = (
            select(decision)
            .where(decision.c.state == literal("pending", literal_execute=True), *conditions)
            .order_by(*_EARLIEST_FIRST)
            .limit(limit)
        )
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            return [DecisionRow(**row) for row in connection.execute(query).mappings()]


def _in_shards(shards: Collection[int]) -> ColumnElement[bool]:
    return decision.c.shard == any_(literal(list(shards), ARRAY(SmallInteger)))


def _none_of(besides: Collection[DecisionId]) -> tuple[ColumnElement[bool], ...]:
    if not besides:
        return ()
    return (decision.c.decision_id != all_(literal(list(besides), ARRAY(Uuid))),)
