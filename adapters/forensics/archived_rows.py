"""Stores the archived rows that seals cover on disk, to keep memory bounded."""

import sqlite3
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from jobledger.core.errors import LedgerMisconfigured

_MAKE = "CREATE TABLE row (position INTEGER, packed BLOB); CREATE INDEX place ON row (position)"
_BETWEEN = "SELECT packed FROM row WHERE position BETWEEN ? AND ? ORDER BY position"


class ArchivedRows:
    """Packed rows by their positions, in a temporary file that goes with this object."""

    def __init__(self) -> None:
        self._kept = sqlite3.connect("", isolation_level=None)
        self._kept.executescript(_MAKE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Forget everything."""
        self._kept.close()

    def add(self, rows: Iterable[tuple[int, bytes]]) -> None:
        """Keep all of these rows, or none where an error comes out of them.

        Raises:
            LedgerMisconfigured: there is no room for them.
        """
        self._kept.execute("BEGIN")
        try:
            self._kept.executemany("INSERT INTO row VALUES (?, ?)", rows)
        except sqlite3.OperationalError as error:
            raise LedgerMisconfigured(f"no room in the temporary directory: {error}") from error
        else:
            self._kept.execute("COMMIT")
        finally:
            if self._kept.in_transaction:
                self._kept.execute("ROLLBACK")

    def between(self, first: int, last: int) -> list[bytes]:
        """Return the rows of a range of positions, in order."""
        return [packed for (packed,) in self._kept.execute(_BETWEEN, (first, last))]
