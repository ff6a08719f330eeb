"""Reads and stores the seals kept in the database.

The port `core.forensics.seals.sealing.SealedLog` over `event` and `seal`.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, RowMapping, Select, func, select, text, true

from jobledger.adapters.postgres.archive.archives import PostgresArchives
from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import one_value
from jobledger.adapters.postgres.schema.tables import event, log_head, seal, seal_head
from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.seals.archives import Archive
from jobledger.core.forensics.seals.kept_seals import SealHead, SealRow, require_last, seal_of
from jobledger.core.forensics.seals.seals import Seal, StreamEnd, written

_BLOCK = 20_000
"""Positions that are read at a time."""

_ROWS = text("""
    SELECT string_agg(
        int8send(position) || uuid_send(stream_id) || int4send(version)
        || CASE WHEN octet_length(chain) = 32 THEN chain ELSE sha256(chain) END,
        ''::bytea ORDER BY position
    ) FROM event WHERE position BETWEEN :first AND :last
""")
"""As `core.forensics.seals.seals.pack`.

A link of another length than 32 is none, and must not fit.
"""

_ROW = select(
    seal.c.number,
    seal.c.first_position.label("first"),
    seal.c.last_position.label("last"),
    seal.c.document,
)

_STEPS = text("""
    SELECT number, first_position, number_before, last_before FROM (
        SELECT number, first_position, last_position,
            lag(number, 1, 0::bigint) OVER w AS number_before,
            lag(last_position, 1, 0::bigint) OVER w AS last_before
        FROM seal WINDOW w AS (ORDER BY number)
    ) AS steps
    WHERE number <> number_before + 1 OR first_position <> last_before + 1
        OR last_position < first_position
    ORDER BY number LIMIT 1
""")
"""Seals that do not begin where the one before ends; reads no document."""

_ADD = text("SELECT add_seal_v1(:number, :first, :last, :document)")


class PostgresSeals:
    """The log as it is now, and its seals."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._archives = PostgresArchives(engine)

    def last_position(self) -> int:
        """See `core.forensics.seals.sealing.SealedLog.last_position`."""
        return int(self._one(select(log_head.c.position).where(log_head.c.single)) or 0)

    def sealed_rows(self, first: int, last: int) -> bytes:
        """See `core.forensics.seals.sealing.SealedLog.sealed_rows`."""
        parts = []
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            for at in range(first, last + 1, _BLOCK):
                block = {"first": at, "last": min(last, at + _BLOCK - 1)}
                parts.append(connection.execute(_ROWS, block).scalar_one() or b"")
        return b"".join(parts)

    def link(self, stream: UUID, version: int) -> bytes | None:
        """See `core.forensics.seals.sealing.SealedLog.link`."""
        place = (event.c.stream_id == stream) & (event.c.version == version)
        found: bytes | None = self._one(select(event.c.chain).where(place))
        return found

    def last_seal(self) -> Seal | None:
        """See `core.forensics.seals.sealing.SealedLog.last_seal`."""
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            # Both in one statement: another replica may be keeping the next seal.
            newest = _ROW.order_by(seal.c.number.desc()).limit(1).subquery()
            both = select(seal_head.c.number.label("head"), seal_head.c.digest, newest)
            both = both.outerjoin_from(seal_head, newest, true()).where(seal_head.c.single)
            row = connection.execute(both).mappings().one_or_none()
        if row is None:
            raise BrokenChain("the seals", "nothing says which was kept last: seal_head is empty")
        last = None if row["number"] is None else _seal(row)
        require_last(SealHead(number=row["head"], digest=row["digest"]), last)
        return last

    def kept_seal(self, number: int) -> Seal | None:
        """See `core.forensics.seals.sealing.SealedLog.kept_seal`."""
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            query = _ROW.where(seal.c.number == number)
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else _seal(row)

    def fault_of_seals(self) -> str | None:
        """See `core.forensics.seals.sealing.SealedLog.fault_of_seals`."""
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            step = connection.execute(_STEPS).one_or_none()
        if step is not None and step.number != step.number_before + 1:
            return f"seal {step.number_before + 1} is gone: seal {step.number} is the next"
        if step is not None:
            return (
                f"beside seal {step.number} stands position {step.first_position} as its first, "
                f"and the one before ends with {step.last_before}"
            )
        try:
            last = self.last_seal()
        except BrokenChain as error:
            return str(error)
        end = self.last_position()
        if last is not None and last.last > end:
            return f"the log ends with position {end}, and seal {last.number} covers {last.last}"
        return None

    def seals(self) -> Iterator[Seal]:
        """See `core.forensics.seals.sealing.SealedLog.seals`."""
        number = 0
        after = _ROW.order_by(seal.c.number).limit(1)
        while True:
            with ledger_errors(self._engine.url), self._engine.connect() as connection:
                row = (
                    connection.execute(after.where(seal.c.number > number)).mappings().one_or_none()
                )
            if row is None:
                return
            number = row["number"]
            yield _seal(row)

    def seal_of(self, positions: Sequence[int]) -> Seal | None:
        """Return the newest seal that covers one of these positions, None if none does."""
        newest = select(func.max(seal.c.last_position))
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            sealed_to = connection.execute(newest).scalar_one() or 0
            last = max((at for at in positions if at <= sealed_to), default=0)
            covers = (seal.c.first_position <= last) & (seal.c.last_position >= last)
            row = connection.execute(_ROW.where(covers).limit(1)).mappings().one_or_none()
        return None if row is None else _seal(row)

    def add_seal(self, made: Seal) -> bool:
        """See `core.forensics.seals.sealing.SealedLog.add_seal`."""
        values = {
            "number": made.number,
            "first": made.first,
            "last": made.last,
            "document": written(made),
        }
        return bool(one_value(self._engine, _ADD, values))

    def archives(self) -> Iterator[Archive]:
        """See `core.forensics.seals.sealing.SealedLog.archives`."""
        return self._archives.records()

    def last_archive(self) -> tuple[int, bytes] | None:
        """See `core.forensics.seals.sealing.SealedLog.last_archive`."""
        return self._archives.last()

    def archived(self, first: int, last: int) -> Sequence[tuple[int, int]]:
        """See `core.forensics.seals.sealing.SealedLog.archived`."""
        return self._archives.between(first, last)

    def archived_end(self, stream: UUID) -> StreamEnd | None:
        """See `core.forensics.seals.sealing.SealedLog.archived_end`."""
        return self._archives.end(stream)

    def _one(self, query: Select[Any]) -> Any:  # noqa: ANN401  # one value of any column
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            return connection.execute(query).scalar_one_or_none()


def _seal(row: RowMapping) -> Seal:
    return seal_of(
        SealRow(
            number=row["number"], first=row["first"], last=row["last"], document=row["document"]
        )
    )
