"""What targets are to be told and were not yet, and how far the log was read for it."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import msgspec
from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import all_mappings, all_rows, one_value
from jobledger.core.errors import LedgerMisconfigured
from jobledger.core.notifications.messages import Notice
from jobledger.core.notifications.rules import Occasion
from jobledger.core.notifications.waiting import Dead, NotificationLag, Taken, Waiting

_PUT = text("SELECT put_notifications_v1(:expected, :upto, :notices)")
_TAKE = text("SELECT * FROM take_notifications_v1(:target, :most, :lease)")
_SETTLE = text("SELECT settle_notification_v1(:notice, :this_try, :trouble, :again_in)")
_CLEAR = text("SELECT clear_dead_notifications_v1(:target, :again)")
_WAITING = text("""
    SELECT target, count(*) FILTER (WHERE NOT dead) AS waiting,
        count(*) FILTER (WHERE dead) AS dead,
        min(made_at) FILTER (WHERE NOT dead) AS oldest
    FROM notification GROUP BY target ORDER BY target
""")
_DEAD = text("""
    SELECT notice_id, target, rule, position, occasion, made_at, due_at, tries, trouble
    FROM notification WHERE dead ORDER BY due_at DESC LIMIT :limit
""")
_LAG = text("""
    SELECT h.position AS last_position, c.position AS position,
        CASE WHEN c.position IS NULL OR h.position <= c.position THEN 0
            ELSE greatest(0, date_part('epoch', clock_timestamp() - (
                SELECT e.recorded_at FROM event e WHERE e.position > c.position
                ORDER BY e.position LIMIT 1))) END AS seconds
    FROM notification_cursor c CROSS JOIN log_head h WHERE c.single AND h.single
""")

_OCCASION = msgspec.json.Decoder(Occasion)

ROW_GONE = (
    "the table notification_cursor has no row whose `single` is true: somebody changed it; as the "
    "owner of the tables: INSERT INTO notification_cursor DEFAULT VALUES"
)


class PostgresNotifications:
    """The notices of one ledger; see `core.notifications.waiting.Notices`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def lag(self) -> NotificationLag:
        """Return how far the log was read.

        Raises:
            LedgerMisconfigured: the row that says it is gone.
        """
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            row = connection.execute(_LAG).one_or_none()
        if row is None:
            raise LedgerMisconfigured(ROW_GONE)
        return NotificationLag(
            last_position=row.last_position,
            position=row.position,
            seconds=float(row.seconds or 0.0),
        )

    def put(self, expected: int | None, upto: int, notices: Sequence[Notice]) -> bool:
        """Move the cursor on, with what is to be told of the events in between.

        Args:
            expected: Where it is; None: nobody was told yet.
            upto: Where it goes.
            notices: Of events in between.

        Returns:
            False if it is not there, or the log ends before `upto`: nothing was changed.
        """
        told = [
            {
                "notice_id": notice.id,
                "target": notice.target,
                "rule": notice.rule,
                "position": notice.occasion.position,
                "occasion": msgspec.json.encode(notice.occasion).decode(),
            }
            for notice in notices
        ]
        values = {
            "expected": expected,
            "upto": upto,
            "notices": msgspec.json.encode(told).decode(),
        }
        moved: bool = one_value(self._engine, _PUT, values)
        return moved

    def take(self, target: str, most: int, lease: timedelta) -> Sequence[Taken]:
        """Return notices that are due, which nobody else is given for as long as `lease`."""
        asked = {"target": target, "most": most, "lease": lease}
        rows = all_rows(self._engine, _TAKE, asked)
        return [
            Taken(
                notice=_notice(row.notice_id, row.rule, target, row.occasion),
                tries=row.tries,
            )
            for row in rows
        ]

    def delivered(self, one: Taken) -> None:
        """Note that a notice was taken; it goes."""
        self._settle(one, "", None)

    def not_taken(self, one: Taken, trouble: str, again_in: timedelta | None) -> None:
        """Note why a notice was not taken, and when it is tried again; None: it is given up."""
        self._settle(one, trouble, again_in)

    def _settle(self, one: Taken, trouble: str, again_in: timedelta | None) -> None:
        asked = {
            "notice": one.notice.id,
            "this_try": one.tries,
            "trouble": trouble,
            "again_in": again_in,
        }
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            connection.execute(_SETTLE, asked)

    def waiting(self) -> Sequence[Waiting]:
        """Return what waits, or is dead, of each target that has any."""
        rows = all_mappings(self._engine, _WAITING)
        return [Waiting(**row) for row in rows]

    def dead(self, limit: int) -> Sequence[Dead]:
        """Return the notices that were given up, the latest first."""
        rows = all_rows(self._engine, _DEAD, {"limit": limit})
        return [
            Dead(
                notice=_notice(row.notice_id, row.rule, row.target, row.occasion),
                position=row.position,
                made_at=row.made_at,
                given_up_at=row.due_at,
                tries=row.tries,
                trouble=row.trouble,
            )
            for row in rows
        ]

    def clear_dead(self, target: str, *, again: bool) -> int:
        """Send the dead notices of a target again (empty: of all), or forget them.

        Returns:
            How many.
        """
        asked = {"target": target, "again": again}
        changed: int = one_value(self._engine, _CLEAR, asked)
        return changed


def _notice(notice: UUID, rule: str, target: str, occasion: str) -> Notice:
    told = _OCCASION.decode(occasion)
    return Notice(id=notice, rule=rule, target=target, occasion=told)
