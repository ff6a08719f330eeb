"""Port: recompute the inline projections from the log while the controller runs."""

from typing import Protocol

from jobledger.core.jobs.rows import RowChanges
from jobledger.core.values.ids import StreamId


class Projections(Protocol):
    """The rows that follow from the log. May raise `LedgerUnavailable`."""

    def replace_rows(self, stream: StreamId, version: int, rows: RowChanges) -> bool:
        """Put `rows` in place of all rows of a stream, if it is still at `version`.

        Tell whether it was.

        A stream that moved on is left alone: fold it again.
        """
        ...
