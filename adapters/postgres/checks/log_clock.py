"""Checks by which clocks the log was dated: whether an instant is still to come, or goes back.

Events are dated by the controller, and counted by their positions. This is told by the log alone,
so whoever asks need not be on the machine whose clock was off.
"""

from collections.abc import Iterator

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.core.forensics.findings import Check, Finding, note, warning

NEWEST = 100_000
"""So many events are looked at."""

APART_SECONDS = 30
"""Clocks that are further apart than this are told."""

_AHEAD = text("""
    SELECT e.position, e.actor, date_part('epoch', e.recorded_at - clock_timestamp()) AS ahead
    FROM event e, log_head h WHERE h.single AND e.position > h.position - 100
    ORDER BY e.recorded_at DESC LIMIT 1
""")
_BACK = text("""
    SELECT *, count(*) OVER () AS total FROM (
        SELECT e.position, e.actor, e.recorded_at, lag(e.actor) OVER in_order AS actor_before,
            date_part('epoch', lag(e.recorded_at) OVER in_order - e.recorded_at) AS back
        FROM event e, log_head h WHERE h.single AND e.position > h.position - :newest
        WINDOW in_order AS (ORDER BY e.position)
    ) steps WHERE back > :apart ORDER BY position DESC LIMIT 1
""")


def log_clock(engine: Engine) -> Iterator[Finding]:
    """Yield what shows that a clock was off by which events were dated."""
    with ledger_errors(engine.url), engine.connect() as connection:
        last = connection.execute(_AHEAD).mappings().one_or_none()
        asked = {"newest": NEWEST, "apart": APART_SECONDS}
        back = connection.execute(_BACK, asked).mappings().one_or_none()
    if last is not None and last["ahead"] > APART_SECONDS:
        what = (
            f"event {last['position']} is dated {last['ahead']:.0f} s ahead of the database's "
            f"clock, by {last['actor']}"
        )
        yield warning("log-clock", what, "synchronise its machine and the database's (NTP)")
    if back is not None:
        more = f", and {back['total'] - 1} earlier ones" if back["total"] > 1 else ""
        what = (
            f"event {back['position']} is dated {back['back']:.0f} s before the one it follows "
            f"({back['recorded_at']:%Y-%m-%d %H:%M:%S} UTC, by {back['actor']} after "
            f"{back['actor_before']}){more}"
        )
        remedy = (
            "go by positions and versions, which are in order: a clock was set, or was another's, "
            "or an append waited for the database"
        )
        yield note("log-clock", what, remedy)


LOG_CLOCK: Check[Engine] = Check(
    name="log-clock",
    asks=f"Are the newest {NEWEST:,} events dated in the order in which they were written?",
    run=log_clock,
)
