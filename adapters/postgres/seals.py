"""Seals in the database: the port `core.forensics.sealing.SealedLog` over `event` and `seal`."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, Select, func, select, text

from adapters.postgres.archives import PostgresArchives
from adapters.postgres.errors import ledger_errors
from adapters.postgres.tables import event, log_head, seal
from core.forensics.archives import Archive
from core.forensics.seals import Seal, StreamEnd, read, written

_BLOCK = 20_000
"""Positions that are read at a time."""

_ROWS = text("""
    SELECT string_agg(
        int8send(position) || uuid_send(stream_id) || int4send(version)
        || CASE WHEN octet_length(chain) = 32 THEN chain ELSE sha256(chain) END,
        ''::bytea ORDER BY position
    ) FROM event WHERE position BETWEEN :first AND :last
""")
"""As `core.forensics.seals.pack`; a link of another length than 32 is none, and must not fit."""

_ADD = text("SELECT add_seal_v1(:number, :first, :last, :document)")


class PostgresSeals:
    """The log as it is now, and its seals."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._archives = PostgresArchives(engine)

    def last_position(self) -> int:
        """See `core.forensics.sealing.SealedLog.last_position`."""
        return int(self._one(select(log_head.c.position)) or 0)

    def sealed_rows(self, first: int, last: int) -> bytes:
        """See `core.forensics.sealing.SealedLog.sealed_rows`."""
        parts = []
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            for at in range(first, last + 1, _BLOCK):
                block = {"first": at, "last": min(last, at + _BLOCK - 1)}
                parts.append(connection.execute(_ROWS, block).scalar_one() or b"")
        return b"".join(parts)

    def link(self, stream: UUID, version: int) -> bytes | None:
        """See `core.forensics.sealing.SealedLog.link`."""
        place = (event.c.stream_id == stream) & (event.c.version == version)
        found: bytes | None = self._one(select(event.c.chain).where(place))
        return found

    def last_seal(self) -> Seal | None:
        """See `core.forensics.sealing.SealedLog.last_seal`."""
        found = self._one(select(seal.c.document).order_by(seal.c.number.desc()).limit(1))
        return None if found is None else read(found)

    def seals(self) -> Iterator[Seal]:
        """See `core.forensics.sealing.SealedLog.seals`."""
        number = 0
        after = select(seal.c.number, seal.c.document).order_by(seal.c.number).limit(1)
        while True:
            with ledger_errors(self._engine.url), self._engine.connect() as connection:
                row = connection.execute(after.where(seal.c.number > number)).one_or_none()
            if row is None:
                return
            number = row.number
            yield read(row.document)

    def seal_of(self, positions: Sequence[int]) -> Seal | None:
        """Return the newest seal that covers one of these positions, None if none does."""
        newest = select(func.max(seal.c.last_position))
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            sealed_to = connection.execute(newest).scalar_one() or 0
            last = max((at for at in positions if at <= sealed_to), default=0)
            covers = (seal.c.first_position <= last) & (seal.c.last_position >= last)
            found = connection.execute(select(seal.c.document).where(covers)).scalar_one_or_none()
        return None if found is None else read(found)

    def add_seal(self, made: Seal) -> bool:
        """See `core.forensics.sealing.SealedLog.add_seal`."""
        values = {
            "number": made.number,
            "first": made.first,
            "last": made.last,
            "document": written(made),
        }
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            return bool(connection.execute(_ADD, values).scalar_one())

    def archives(self) -> Iterator[Archive]:
        """See `core.forensics.sealing.SealedLog.archives`."""
        return self._archives.records()

    def last_archive(self) -> tuple[int, bytes] | None:
        """See `core.forensics.sealing.SealedLog.last_archive`."""
        return self._archives.last()

    def archived(self, first: int, last: int) -> Sequence[tuple[int, int]]:
        """See `core.forensics.sealing.SealedLog.archived`."""
        return self._archives.between(first, last)

    def archived_end(self, stream: UUID) -> StreamEnd | None:
        """See `core.forensics.sealing.SealedLog.archived_end`."""
        return self._archives.end(stream)

    def _one(self, query: Select[Any]) -> Any:  # noqa: ANN401  # one value of any column
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            return connection.execute(query).scalar_one_or_none()
