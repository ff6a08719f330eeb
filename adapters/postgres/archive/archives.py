"""Archive records in the database: eligible jobs, archived jobs, and their removal."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Engine, Table, and_, func, not_, or_, select, text

from jobledger.adapters.postgres.connection.answer_limit import unhurried
from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.lock_holders import told_holder
from jobledger.adapters.postgres.connection.pooler import require_own_session
from jobledger.adapters.postgres.connection.statements import all_mappings, all_rows, one_value
from jobledger.adapters.postgres.schema.tables import archive, archived_stream, job, stream
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import BrokenChain, LedgerMisconfigured, LedgerUnavailable
from jobledger.core.forensics.seals.archives import Archive, ArchivedJob, read, written
from jobledger.core.forensics.seals.seals import StreamEnd
from jobledger.core.jobs.rows import JobRow
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

_KEEP = text("""
    SELECT keep_archive_v1(
        :number, :digest, :made_at, :file, CAST(:positions AS int8multirange), :document,
        CAST(:jobs AS json), CAST(:evidence AS text[])
    )
""")
_REMOVE = text("SELECT jobs, events FROM remove_archived_v1(:number, :at_most)")
_DROP = text(
    "SELECT dropped, jobs, events, next_from"
    " FROM drop_archived_partition_v1(CAST(:resume_from AS uuid), :at_most)"
)
_SWEEP = text("SELECT sweep_evidence_v1()")
_MAY_ARCHIVE = text("""
    SELECT bool_and(has_function_privilege(oid, 'EXECUTE')) FROM pg_proc
    WHERE pronamespace = to_regnamespace(quote_ident(current_schema()))
        AND proname IN ('keep_archive_v1', 'remove_archived_v1', 'drop_archived_partition_v1')
""")
_NUMBERS = (1246708300, 4)
_LOCK, _UNLOCK = (
    text(f"SELECT pg_{how}advisory_{what}lock{_NUMBERS}")
    for how, what in (("try_", ""), ("", "un"))
)

_BETWEEN = text("""
    SELECT lower(r), upper(r) - 1
    FROM archive a, unnest(a.positions * int8multirange(int8range(:first, :last, '[]'))) r
    WHERE a.positions && int8range(:first, :last, '[]') ORDER BY 1
""")

_KEY_OF_ROW = frozenset({"stream_id", "archive"})

_REMOVE_AT_ONCE = 2_000
"""Events per removal, about: some ten milliseconds, for which appends wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Which jobs may leave the log: over, their objects gone for long enough."""

    gone_before: Instant
    """Their objects were seen to be gone before this."""
    failed_gone_before: Instant | None = None
    """The same for jobs that failed; None: as the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What was taken out of the log."""

    jobs: int
    events: int
    partition: str = ""
    """The monthly partition that was dropped as a whole; empty if rows were removed."""


class PostgresArchives:
    """The tables `archive` and `archived_stream`, and the functions that take jobs out."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the right to archive.

        Raises `LedgerMisconfigured` while another process does, or if the user may not remove jobs.
        """
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            if not connection.execute(_MAY_ARCHIVE).scalar_one():
                raise LedgerMisconfigured(
                    "this user may not do that: jobs are taken out of the log by the owner of its "
                    "tables (the user of `jobledger db upgrade`), never by the service"
                )
            require_own_session(connection, "`jobledger archive create`")
            if not connection.execute(_LOCK).scalar_one():
                told = told_holder(connection, *_NUMBERS)
                raise LedgerMisconfigured(
                    f"another `jobledger archive create` is under way: {told}"
                )
            try:
                yield
            finally:
                connection.execute(_UNLOCK)

    def candidates(self, wanted: Retention) -> Sequence[JobRow]:
        """Return the jobs that may leave, the oldest first; none that a record speaks of."""
        known = select(archived_stream.c.stream_id).where(
            archived_stream.c.stream_id == job.c.stream_id
        )
        query = (
            select(job)
            .where(not_(job.c.open), _gone_long_enough(wanted), not_(known.exists()))
            .order_by(job.c.stream_id)
        )
        return [JobRow(**row) for row in all_mappings(self._engine, query)]

    def keep(self, made: Archive) -> bool:
        """Keep a record; False if another has kept one of its number meanwhile.

        Raises `LedgerError` unless every job is over and ends where the record says.
        """
        ranges = ",".join(f"[{first},{last}]" for first, last in made.positions)
        values = {
            "number": made.number,
            "digest": made.digest,
            "made_at": made.made_at,
            "file": made.file.name,
            "positions": "{" + ranges + "}",
            "document": written(made),
            "jobs": json.dumps([_row(item) for item in made.jobs]),
            "evidence": list(made.evidence),
        }
        return bool(one_value(self._engine, _KEEP, values))

    def remove(self, number: int) -> Iterator[Removed]:
        """Remove the jobs of a record from the log, some at a time; tell after each step."""
        while True:
            with ledger_errors(self._engine.url), self._engine.connect() as connection:
                values = {"number": number, "at_most": _REMOVE_AT_ONCE}
                jobs, events = connection.execute(_REMOVE, values).one()
            if not jobs:
                return
            yield Removed(jobs=jobs, events=events)

    def drop_partitions(self) -> Iterator[Removed]:
        """Drop every monthly partition of which all jobs are archived; tell after each.

        Ends early where that takes too long: `remove` does the same job by job.
        """
        resume_from: UUID | None = None
        while True:
            values = {"resume_from": resume_from, "at_most": _REMOVE_AT_ONCE}
            try:
                with ledger_errors(self._engine.url), self._engine.connect() as connection:
                    dropped, jobs, events, resume_from = connection.execute(_DROP, values).one()
            except LedgerUnavailable as error:
                log.warning("partition_not_dropped", error=str(error))
                return
            if dropped is not None:
                yield Removed(jobs=jobs, events=events, partition=dropped)
            elif resume_from is None:
                return

    def sweep_evidence(self) -> int:
        """Remove evidence that no event names any more; return how many pieces."""
        engine = self._engine
        with ledger_errors(engine.url), engine.connect() as connection, unhurried(connection):
            return int(connection.execute(_SWEEP).scalar_one())

    def records(self) -> Iterator[Archive]:
        """Yield every record in order, held against the rows that were made of it.

        Raises `BrokenChain` if one cannot be read, or its rows say otherwise.
        """
        number = 0
        after = select(archive).order_by(archive.c.number).limit(1)
        while rows := all_mappings(self._engine, after.where(archive.c.number > number)):
            number = rows[0]["number"]
            found = read(rows[0]["document"])
            self._hold_against(rows[0], found)
            yield found

    def last(self) -> tuple[int, bytes] | None:
        """Return number and digest of the newest record, None while there is none."""
        columns = archive.c.number, archive.c.digest
        for row in all_mappings(
            self._engine, select(*columns).order_by(archive.c.number.desc()).limit(1)
        ):
            return row["number"], row["digest"]
        return None

    def between(self, first: int, last: int) -> Sequence[tuple[int, int]]:
        """Return the ranges of positions, of those between, that records speak of."""
        found = all_rows(self._engine, _BETWEEN, {"first": first, "last": last})
        return [(row[0], row[1]) for row in found]

    def end(self, wanted: UUID) -> StreamEnd | None:
        """Return where a stream ended by its record, None if no record speaks of it."""
        query = select(archived_stream).where(archived_stream.c.stream_id == wanted)
        for row in all_mappings(self._engine, query.order_by(archived_stream.c.version.desc())):
            return StreamEnd(stream=wanted, version=row["version"], chain=row["chain"])
        return None

    def find(self, name: str, namespace: str = "") -> Sequence[dict[str, Any]]:
        """Return the archived jobs of a name, UID or stream, with the file that holds each."""
        query = (
            select(archived_stream, archive.c.file)
            .join(archive, archive.c.number == archived_stream.c.archive)
            .where(is_named(archived_stream, name))
            .order_by(archived_stream.c.stream_id)
        )
        if namespace:
            query = query.where(archived_stream.c.namespace == namespace)
        return all_mappings(self._engine, query)

    def pending(self) -> dict[int, int]:
        """Return how many jobs of each record are still in the log as they were, if any are.

        One that has moved on since stays in the log, and waits for nothing.
        """
        query = (
            select(archived_stream.c.archive, func.count().label("jobs"))
            .join(
                stream,
                and_(
                    stream.c.stream_id == archived_stream.c.stream_id,
                    stream.c.version == archived_stream.c.version,
                    stream.c.chain == archived_stream.c.chain,
                ),
            )
            .group_by(archived_stream.c.archive)
        )
        return {row["archive"]: row["jobs"] for row in all_mappings(self._engine, query)}

    def summary(self) -> list[dict[str, Any]]:
        """Return every record as a line, without its document."""
        columns = [column for column in archive.c if column.name not in {"document", "positions"}]
        return all_mappings(self._engine, select(*columns).order_by(archive.c.number))

    def _hold_against(self, row: dict[str, Any], found: Archive) -> None:
        """Compare every column that was copied from a record with the record."""
        query = select(archived_stream).where(archived_stream.c.archive == row["number"])
        kept = {(item["stream_id"], *_copied(item)) for item in all_mappings(self._engine, query)}
        said = {(item.stream, *_copied(asdict(item))) for item in found.jobs}
        wrong = [name for name, value in _of_record(found).items() if row[name] != value]
        if [(part.lower, part.upper - 1) for part in row["positions"]] != list(found.positions):
            wrong.append("positions")
        if kept != said:
            wrong.append("jobs, in archived_stream")
        if wrong:
            what = f"the rows that were made of it are not what it says: {'; '.join(wrong)}"
            raise BrokenChain(f"archive record {found.number}", what)


def _gone_long_enough(wanted: Retention) -> ColumnElement[bool]:
    """Return the condition on when the object was seen to be gone."""
    gone = job.c.deleted_at < wanted.gone_before
    if wanted.failed_gone_before is None:
        return gone
    failed = and_(job.c.phase != "Complete", or_(job.c.failed > 0, job.c.phase.like("%Failed")))
    return and_(gone, or_(not_(failed), job.c.deleted_at < wanted.failed_gone_before))


def _of_record(found: Archive) -> dict[str, object]:
    """Return the columns of `archive` that repeat what the record says; positions apart."""
    return {
        "number": found.number,
        "digest": found.digest,
        "made_at": found.made_at,
        "file": found.file.name,
        "jobs": len(found.jobs),
        "events": found.events,
    }


def _copied(job_of_it: dict[str, Any]) -> tuple[object, ...]:
    """Return what a row of `archived_stream` repeats of a job of the record; its stream apart."""
    return tuple(job_of_it[name] for name in _COPIED)


def _row(item: ArchivedJob) -> dict[str, Any]:
    """Return a job as a row of `archived_stream`, as JSON."""
    told = {name: value for name, value in asdict(item).items() if name not in _NOT_IN_ROWS}
    return {
        **told,
        "stream_id": str(item.stream),
        "chain": f"\\x{item.chain.hex()}",
        "created_at": item.created_at.isoformat(),
        "deleted_at": item.deleted_at.isoformat(),
    }


_NOT_IN_ROWS = frozenset({"stream", "first", "last", "phase"})

_COPIED = tuple(column.name for column in archived_stream.c if column.name not in _KEY_OF_ROW)


def is_named(jobs: Table, name: str) -> ColumnElement[bool]:
    """Return whether a job of a table has this name, UID or stream."""
    called = or_(jobs.c.name == name, jobs.c.uid == name)
    try:
        return or_(called, jobs.c.stream_id == UUID(name))
    except ValueError:
        return called
