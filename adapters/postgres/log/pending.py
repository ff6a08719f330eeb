"""The port `core.ports.pending` over the table `decision`."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    DateTime,
    Engine,
    Integer,
    Select,
    SmallInteger,
    Text,
    Uuid,
    all_,
    any_,
    bindparam,
    literal_column,
    select,
    union_all,
)

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.schema.tables import decision, job
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.ports.pending import Look
from jobledger.core.values.ids import DecisionId
from jobledger.core.values.instants import Instant

_NOW = bindparam("now", type_=DateTime(timezone=True))
_SHARDS = bindparam("shards", type_=ARRAY(SmallInteger))
_BESIDES = bindparam("besides", type_=ARRAY(Uuid))
_LIMIT = bindparam("limit", type_=Integer)
_CLUSTER = bindparam("cluster", type_=Text)
_OF_CLUSTER = select(job.c.cluster).where(job.c.stream_id == decision.c.stream_id).scalar_subquery()

_EARLIEST_FIRST = (
    select(decision)
    # literal, as a plan for any state would not use the index of the pending ones
    .where(decision.c.state == literal_column("'pending'"), decision.c.shard == any_(_SHARDS))
    # a value, not a join: it is looked up for the few rows that are returned, in their order
    .where((_CLUSTER == "") | (_CLUSTER == _OF_CLUSTER))
    .order_by(decision.c.due_at, decision.c.decision_id)
)
_OTHERS = _EARLIEST_FIRST.where(decision.c.decision_id != all_(_BESIDES))
_LOOK: Select[Any] = select(
    union_all(
        _OTHERS.where(decision.c.due_at <= _NOW).limit(_LIMIT).subquery("due").select(),
        _OTHERS.where(decision.c.due_at > _NOW).limit(1).subquery("later").select(),
    ).subquery("look")
)
_PENDING = _EARLIEST_FIRST.limit(_LIMIT)


class PostgresPendingDecisions:
    """The pending rows of `decision`; the partial index on `due_at` carries every query."""

    def __init__(self, engine: Engine, cluster: str = "") -> None:
        """Take the cluster whose decisions are meant; empty: all."""
        self._engine = engine
        self._cluster = cluster

    def look(
        self, now: Instant, shards: Collection[int], limit: int, besides: Collection[DecisionId]
    ) -> Look:
        """See `core.ports.pending.PendingDecisions.look`."""
        rows = self._rows(
            _LOOK, now=now, shards=list(shards), besides=list(besides), limit=limit + 1
        )
        due = [row for row in rows if row.due_at <= now][:limit]
        others = rows[len(due) :]
        return Look(due=due, next_due_at=others[0].due_at if others else None)

    def pending(self, shards: Collection[int], limit: int) -> Sequence[DecisionRow]:
        """See `core.ports.pending.PendingDecisions.pending`."""
        return self._rows(_PENDING, shards=list(shards), limit=limit)

    def _rows(self, query: Select[Any], **parameters: object) -> Sequence[DecisionRow]:
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            rows = connection.execute(query, {**parameters, "cluster": self._cluster})
            return [DecisionRow(**row) for row in rows.mappings()]
