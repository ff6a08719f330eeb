"""The port `core.ports.history` over the inline projections."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    CompoundSelect,
    Engine,
    FromClause,
    Select,
    SmallInteger,
    Uuid,
    and_,
    any_,
    cast,
    func,
    literal,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import JSONB

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import all_mappings, one_column
from jobledger.adapters.postgres.schema.stored_events import EVENTS, is_of, stored_events
from jobledger.adapters.postgres.schema.tables import attempt, decision, effect, event, job
from jobledger.adapters.postgres.schema.tables import stream as heads
from jobledger.core.catalogue import FATES_OF_A_CLUSTER, KEPT
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.ports.history import FinishedJob, JobFilter
from jobledger.core.values.ids import StreamId, first_stream_at

failure, reported = (job.metadata.tables[name] for name in ("report_failure", "report_job"))

FEW_JOBS = 1_000
"""So many jobs that a search finds are picked out by their keys; more are met on the way."""


def _keeps_its_cluster() -> ColumnElement[bool]:
    """Return the condition that the last word about a job's RayCluster is that it is kept."""
    last_word = (
        select(event.c.type)
        .where(event.c.stream_id == job.c.stream_id, event.c.type.in_(FATES_OF_A_CLUSTER))
        .order_by(event.c.version.desc())
        .limit(1)
        .correlate(job)
        .scalar_subquery()
    )
    ended = and_(job.c.phase.in_(("Complete", "Failed")), job.c.deleted_at.is_(None))
    return and_(ended, last_word == KEPT)


def _of_order(wanted: JobFilter, table: FromClause = job) -> Iterator[ColumnElement[bool]]:
    """Yield what bounds the streams: they sort by the creation of their jobs."""
    stream = table.c.stream_id
    if wanted.older_than is not None:
        yield stream < wanted.older_than
    if wanted.created_from is not None:
        yield stream >= first_stream_at(wanted.created_from)
    if wanted.created_until is not None:
        yield stream < first_stream_at(wanted.created_until)


def _conditions(wanted: JobFilter) -> Iterator[ColumnElement[bool]]:
    """Yield what a job has to be, but what `_searches` looks for."""
    for field in ("cluster", "namespace", "name", "kind", "uid", "phase", "reason"):
        value = getattr(wanted, field)
        if value:
            yield job.c[field] == value
    if wanted.stream_id is not None:
        yield job.c.stream_id == wanted.stream_id
    if wanted.streams:
        yield is_of(job, wanted.streams)
    if wanted.new_only:
        yield job.c.phase == ""
    if wanted.open_only:
        yield job.c.open
    yield from _of_order(wanted)
    if wanted.kept_only:
        yield _keeps_its_cluster()


_Search: TypeAlias = tuple[Select[Any] | CompoundSelect[Any], ColumnElement[bool]]


def _searches(wanted: JobFilter) -> Iterator[_Search]:
    """Yield for each filter that may find few jobs anywhere: which ones, and it as a condition."""
    if wanted.text:
        yield _named(wanted)
    if wanted.cause:
        yield _reported(wanted, failure, failure.c.cause == wanted.cause)
    if wanted.label:
        yield _labelled(wanted)


def _named(wanted: JobFilter) -> _Search:
    """Return what finds jobs by a text: names are in small letters. Source: Kubernetes."""
    small = re.sub("([/%_])", r"/\1", wanted.text.lower())
    named = or_(*(_like(one, f"%{small}%") for one in (job.c.name, job.c.namespace)))
    uid = _like(job.c.uid, f"{small}%")
    bounds = list(_of_order(wanted))
    if wanted.namespace:
        bounds.append(job.c.namespace == wanted.namespace)
    both = (select(job.c.stream_id).where(one, *bounds) for one in (named, uid))
    return union_all(*both), or_(named, uid)


def _like(named: Column[str], pattern: str) -> ColumnElement[bool]:
    """Compare with a pattern that stands in the statement: a plan for any would not do."""
    return named.like(literal(pattern, literal_execute=True), escape="/")


def _labelled(wanted: JobFilter) -> _Search:
    """Return what finds jobs by a label.

    Of many the planner takes few, as it has no statistics of labels: so a subquery that it cannot
    turn round says of each job on the way whether it has it.
    """
    name, _, value = wanted.label.partition("=")
    has_it = cast(reported.c.labels, JSONB).contains({name: value})
    found = select(reported.c.stream_id).where(has_it, *_of_order(wanted, reported))
    of_job = select(has_it).where(reported.c.stream_id == job.c.stream_id)
    return found, of_job.correlate(job).scalar_subquery()


def _reported(wanted: JobFilter, table: FromClause, condition: ColumnElement[bool]) -> _Search:
    """Return what finds jobs by facts that reports have of them."""
    found = select(table.c.stream_id).where(condition, *_of_order(wanted, table))
    return found, job.c.stream_id.in_(found)


class PostgresHistory:
    """Jobs, attempts, decisions and effects as they stand now."""

    def __init__(self, engine: Engine, cluster: str = "") -> None:
        """Take the cluster whose shards are meant; empty: those of all."""
        self._engine = engine
        self._cluster = cluster

    def jobs(self, wanted: JobFilter, limit: int) -> Sequence[JobRow]:
        """See `core.ports.history.History.jobs`."""
        query = select(job).order_by(job.c.stream_id.desc()).limit(limit)
        return [JobRow(**row) for row in self._searched(query, wanted)]

    def counts(self, wanted: JobFilter) -> Mapping[str, int]:
        """See `core.ports.history.History.counts`."""
        query = select(job.c.phase, func.count().label("jobs")).group_by(job.c.phase)
        return {row["phase"]: row["jobs"] for row in self._searched(query, wanted)}

    def _searched(self, query: Select[Any], wanted: JobFilter) -> Sequence[dict[str, Any]]:
        """Return what a query says of these jobs.

        The planner cannot tell whether a search finds few jobs, for which a walk through the list
        in its order takes for ever, or many, of which the first are met soon: so it is tried.
        """
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            query = query.where(*_conditions(wanted))
            for search, condition in _searches(wanted):
                found = connection.execute(search.limit(FEW_JOBS + 1)).scalars().all()
                few = job.c.stream_id == any_(literal(found, ARRAY(Uuid)))
                query = query.where(few if len(found) <= FEW_JOBS else condition)
            return [dict(row) for row in connection.execute(query).mappings()]

    def streams(self) -> Sequence[StreamId]:
        """See `core.ports.history.History.streams`."""
        query = select(heads.c.stream_id).order_by(heads.c.stream_id)
        return one_column(self._engine, query)

    def finished(self, shards: Collection[int]) -> Sequence[FinishedJob]:
        """See `core.ports.history.History.finished`."""
        is_there = job.c.deleted_at.is_(None)  # of a long log, few are: they have an index
        columns = job.c.stream_id, job.c.generation, job.c.recorded, job.c.version
        query = select(*columns).where(~job.c.open, is_there, self._in_shards(shards))
        return [FinishedJob(**row) for row in all_mappings(self._engine, query)]

    def open_streams(self, shards: Collection[int]) -> Sequence[StreamId]:
        """See `core.ports.history.History.open_streams`."""
        ours = job.c.open, self._in_shards(shards)
        query = select(job.c.stream_id).where(*ours).order_by(job.c.stream_id)
        return one_column(self._engine, query)

    def _in_shards(self, shards: Collection[int]) -> ColumnElement[bool]:
        in_shards = job.c.shard == any_(literal(list(shards), ARRAY(SmallInteger)))
        return and_(in_shards, job.c.cluster == self._cluster) if self._cluster else in_shards

    def attempts(self, stream: StreamId) -> Sequence[AttemptRow]:
        """See `core.ports.history.History.attempts`."""
        query = select(attempt).where(attempt.c.stream_id == stream).order_by(attempt.c.number)
        return [AttemptRow(**row) for row in all_mappings(self._engine, query)]

    def decisions(self, stream: StreamId) -> Sequence[DecisionRow]:
        """See `core.ports.history.History.decisions`."""
        query = (
            select(decision)
            .where(decision.c.stream_id == stream)
            .order_by(decision.c.scheduled_at, decision.c.decision_id)
        )
        return [DecisionRow(**row) for row in all_mappings(self._engine, query)]

    def effects(self, stream: StreamId) -> Sequence[EffectRow]:
        """See `core.ports.history.History.effects`."""
        query = (
            select(effect)
            .where(effect.c.stream_id == stream)
            .order_by(effect.c.requested_at, effect.c.effect_id)
        )
        return [EffectRow(**row) for row in all_mappings(self._engine, query)]

    def last_events(
        self, streams: Collection[StreamId], name: str
    ) -> Mapping[StreamId, StoredEvent]:
        """See `core.ports.history.History.last_events`; read from the end of each stream."""
        given = func.unnest(literal(list(streams), ARRAY(Uuid)))
        asked = given.table_valued("stream_id").render_derived()
        last = (
            EVENTS.where(event.c.stream_id == asked.c.stream_id, event.c.type == name)
            .order_by(event.c.version.desc())
            .limit(1)
            .lateral()
        )
        query = select(last).select_from(asked.join(last, true()))
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            found = stored_events(connection, query)
        return {item.record.stream_id: item for item in found}
