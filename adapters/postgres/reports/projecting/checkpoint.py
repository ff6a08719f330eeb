"""Reads, checks and mends the one row that says how far the reporting tables are."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, Row, TextClause, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import all_rows, may_change
from jobledger.core.errors import LedgerMisconfigured
from jobledger.core.projections.differences import Difference, whole_row
from jobledger.core.values.instants import Instant

NAME = "report_checkpoint"
KEY = "true"
"""Value of the column `single`, the primary key."""

GONE = whole_row(NAME, KEY, is_there=False)

_CHECKPOINT = text(
    "SELECT c.position, c.recorded_at, h.position AS head"
    " FROM report_checkpoint c CROSS JOIN log_head h WHERE c.single AND h.single"
)
_LAG = text(
    "SELECT h.position AS last_position, c.position AS projected_position,"
    " CASE WHEN h.position <= c.position THEN 0 ELSE greatest(0, date_part('epoch', now() -"
    " (SELECT e.recorded_at FROM event e WHERE e.position > c.position"
    " ORDER BY e.position LIMIT 1))) END AS seconds"
    " FROM report_checkpoint c CROSS JOIN log_head h WHERE c.single AND h.single"
)
_ROWS = text(
    "SELECT c.single, c.position, c.recorded_at, h.position AS head, e.recorded_at AS expected"
    " FROM report_checkpoint c JOIN log_head h ON h.single"
    " LEFT JOIN event e ON e.position = c.position"
    " ORDER BY c.single"
)
_REMOVE_OTHERS = text("DELETE FROM report_checkpoint WHERE NOT single")
_PUT_BACK = text("INSERT INTO report_checkpoint (position) VALUES (0) ON CONFLICT DO NOTHING")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """How far the reporting tables are."""

    position: int
    recorded_at: Instant | None
    """When the event there was written down; None in an empty log."""
    head: int
    """Position of the last event of the log; it may have left with an archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLag:
    """How far the reporting tables are behind the log."""

    last_position: int
    """Position of the last event of the log."""
    projected_position: int
    """Position up to which the tables are."""
    seconds: float
    """How long the oldest event that they lack has been waiting; 0 if they lack none."""

    @property
    def events(self) -> int:
        """Return how many events they lack."""
        return max(0, self.last_position - self.projected_position)


def report_lag(engine: Engine) -> ReportLag:
    """Return how far the reporting tables are behind the log now.

    Raises:
        LedgerMisconfigured: the row that says how far they are is gone.
    """
    with ledger_errors(engine.url), engine.connect() as connection:
        row = _the_row(connection, _LAG)
    return ReportLag(
        last_position=row.last_position,
        projected_position=row.projected_position,
        seconds=float(row.seconds or 0.0),
    )


def read_checkpoint(connection: Connection) -> Checkpoint:
    """Return how far the reporting tables are.

    Raises:
        LedgerMisconfigured: the row that says it is gone.
    """
    row = _the_row(connection, _CHECKPOINT)
    return Checkpoint(position=row.position, recorded_at=row.recorded_at, head=row.head)


def wrong_checkpoint(engine: Engine) -> Iterator[Difference]:
    """Yield what is wrong with the checkpoint, on which it depends that the next events follow.

    When the event there was recorded is not known once it has left with an archive.
    """
    rows = all_rows(engine, _ROWS)
    for row in rows:
        if not row.single:
            yield whole_row(NAME, "false", is_there=True)
    right = next((row for row in rows if row.single), None)
    if right is None:
        yield GONE
        return
    found = partial(Difference, table=NAME, key=KEY)
    if right.position > right.head:
        yield found(column="position", found=str(right.position), expected=f"at most {right.head}")
    if right.expected is not None and right.recorded_at != right.expected:
        told, expected = str(right.recorded_at), str(right.expected)
        yield found(column="recorded_at", found=told, expected=expected)


def mend_checkpoint(owner: Engine) -> None:
    """Put the row back if it is gone, and remove one that does not belong there.

    The position is then 0: a rebuild sets it to that of the new tables. Nothing is done for a user
    who may not change the table.
    """
    if not may_change(owner, (NAME,)):
        return
    with ledger_errors(owner.url), owner.connect() as connection, connection.begin():
        connection.execute(_REMOVE_OTHERS)
        connection.execute(_PUT_BACK)


def _the_row(connection: Connection, query: TextClause) -> Row[Any]:
    row = connection.execute(query).one_or_none()
    if row is None:
        raise LedgerMisconfigured(
            "the table report_checkpoint has no row whose `single` is true: somebody changed it; "
            "run `jobledger rebuild --reports` as the owner of the tables, the user of "
            "`jobledger db upgrade`"
        )
    return row
