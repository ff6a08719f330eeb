"""One month of the platform, and as many more as are asked for made of it in SQL.

The first is played and stamped. Another is the first moved to another month: streams, events,
decisions and jobs have other ids, and all instants of the envelopes and facts are later or earlier.
What stands in payloads stays as it was, and hashes with it: such events can be read, exported and
reported, not verified. The events of one month are there at a time; the facts of all stay, as they
do of jobs whose events have left with an archive.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Uuid
from sqlalchemy.dialects.postgresql import TIMESTAMP

from bench.population.loading import load
from bench.population.population import END, Size
from jobledger.adapters.postgres.schema.report_tables import FACTS
from jobledger.adapters.postgres.schema.tables import PARTITION_PREFIX, metadata

DAYS = 28
"""Length of the first month, which has to fit into any other."""

EVENTS_PER_JOB = 33.5
"""Mean of the lives that are played."""

_FIRST_DAY = END - timedelta(days=DAYS)
_INLINE = ("job", "attempt", "decision", "effect", "stream")


def month_of(number: int) -> datetime:
    """Return the first instant of a month: 0 is the one in which the data end, 1 the one before."""
    months = END.year * 12 + END.month - 1 - number
    return datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)


class Months:
    """A ledger in which one month after the other is there."""

    def __init__(self, url: str, events: int, months: int) -> None:
        """Take an empty ledger, by the URL of its owner."""
        self._url = url
        self.jobs = max(4, round(events / months / EVENTS_PER_JOB))
        self.events = 0
        """Of one month; known once the first is made."""
        self._connection = psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True)
        self._connection.execute("SET timezone = 'UTC'; SET synchronous_commit = off")

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()

    def prepare(self, processes: int) -> None:
        """Make the month that all others are made of, and put it aside."""
        lives = min(1_500, self.jobs)
        size = Size(jobs=self.jobs, days=DAYS, templates=lives, open_jobs=max(1, self.jobs // 1000))
        self.events = load(self._url, size, processes=processes).events
        run = self._run
        run("CREATE SCHEMA base")
        parts = []
        for number in (0, 1):  # the four weeks are in two months
            name = _partition(month_of(number))
            run("ALTER TABLE event DETACH PARTITION {}", name)
            run("ALTER TABLE {} SET SCHEMA base", name)
            parts.append(sql.SQL("SELECT * FROM {}").format(sql.Identifier("base", name)))
        union = sql.SQL(" UNION ALL ").join(parts)
        self._connection.execute(sql.SQL("CREATE VIEW base.event AS {}").format(union))
        for name in FACTS:
            run("CREATE UNLOGGED TABLE base.{} AS TABLE public.{}", name, name)
            run("TRUNCATE {}", name)
        copied = "SELECT stream_id AS old, stream_id AS new FROM stream"
        run(f"CREATE UNLOGGED TABLE base.stream AS {copied}")
        run("SET session_replication_role = replica")  # what guards the log guards this as well
        for name in _INLINE:
            run("TRUNCATE {}", name)
        run("SET session_replication_role = origin")
        run("ANALYZE base.stream")

    def fill(self, number: int) -> None:
        """Make a month: its events, and its facts beside those of the others."""
        first = month_of(number)
        days = (first - _FIRST_DAY).days
        self._connection.execute("SELECT ensure_partitions_v1(%s, %s)", (first, first))
        self._run("ALTER TABLE {} SET UNLOGGED", _partition(first))
        digits = "replace(old::text, '-', '')"  # of a UUIDv7: twelve of milliseconds, then others
        instant = f"('x' || left({digits}, 12))::bit(48)::bigint + {days * 86_400_000}"
        self._run(
            "UPDATE base.stream SET new ="
            f" (lpad(to_hex({instant}), 12, '0') || right({digits}, 20))::uuid"
        )
        for name in ("event", *FACTS):
            columns = [column.name for column in metadata.tables[name].columns]
            told = [_moved(name, column, number, days, self.events) for column in columns]
            self._connection.execute(
                sql.SQL(
                    "INSERT INTO {} ({}) SELECT {} FROM base.{} AS f JOIN base.stream AS s"
                    " ON s.old = f.stream_id"
                ).format(
                    sql.Identifier(name),
                    sql.SQL(", ").join(map(sql.Identifier, columns)),
                    sql.SQL(", ").join(told),
                    sql.Identifier(name),
                )
            )

    def told(self) -> list[tuple[Any, ...]]:
        """Return what Postgres says of the events that are there, by their type."""
        return self._connection.execute(
            "SELECT type, count(*), sum(version)::bigint, sum(length(data::text))::bigint,"
            " min(occurred_at), max(recorded_at) FROM event GROUP BY type"
        ).fetchall()

    def empty(self, number: int) -> None:
        """Let the events of a month go; their facts stay."""
        self._run("DROP TABLE {}", _partition(month_of(number)))

    def settle(self) -> None:
        """Let the planner know what there is, as it does some time after each load."""
        for name in FACTS:
            self._run("VACUUM ANALYZE {}", name)

    def _run(self, text: str, *names: str) -> None:
        self._connection.execute(sql.SQL(text).format(*map(sql.Identifier, names)))


def _partition(first: datetime) -> str:
    return f"{PARTITION_PREFIX}y{first.year}m{first.month:02}"


def _moved(table: str, name: str, number: int, days: int, events: int) -> sql.Composable:
    """Return what a column of a row is in another month."""
    column = metadata.tables[table].columns[name]
    value = sql.SQL("f.{}").format(sql.Identifier(name))
    other = sql.SQL("overlay({}::text placing {} from 1 for 2)").format(value, f"{number:02x}")
    if name == "stream_id":
        return sql.SQL("s.new")
    if name == "position":
        return sql.SQL("{} + {}").format(value, number * events)
    if name == "correlation_id":
        return sql.SQL("CASE WHEN {} = f.stream_id THEN s.new ELSE {}::uuid END").format(
            value, other
        )
    if name == "uid":
        return other
    if isinstance(column.type, Uuid):
        return sql.SQL("{}::uuid").format(other)
    if isinstance(column.type, TIMESTAMP):
        return sql.SQL("{} + make_interval(days => {})").format(value, days)
    return value
