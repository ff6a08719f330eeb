"""Runs a report's question and returns the answer.

In a report's SQL stand for what was asked: `{keys}`, what the rows are grouped by, as columns
`key_…`, with a comma behind; `{filters}`, the conditions that narrow the facts; `{names}`, those
columns under their own names, with a comma behind; `{standing}`, the seconds that the cluster of
`v` stands beyond its cluster-seconds; `{of_cause}`, the condition of `--cause`, which is else one
of `{filters}`; `{whole}`, the columns `key_…` that are none of `apart`, a comma before each;
`{is_total}`, whether a row is that over
everything; `{groups}`, the GROUP BY that makes the rows and that one row. One statement gives both,
so that they are of one moment.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from jobledger.adapters.postgres.connection.errors import describe, ends_unknown, ledger_errors
from jobledger.adapters.postgres.connection.standby import stale_since
from jobledger.adapters.postgres.report_v1.views import VERSION, quoted, schema_of_views
from jobledger.adapters.postgres.reports.asking.buckets import in_time_only, starts, without_gaps
from jobledger.adapters.postgres.reports.asking.dimensions import (
    BUCKETS,
    OF_FAILURES,
    STANDARD,
    expression,
    in_sql,
    key_column,
)
from jobledger.adapters.postgres.reports.asking.report import (
    Answer,
    Column,
    Question,
    Report,
    Row,
    Unit,
    Value,
    grouped_by,
)
from jobledger.core.errors import LedgerMisconfigured, LedgerUnavailable
from jobledger.core.values.instants import Instant

_STATE = "SELECT {} FROM report_v1.controller_health"
_TRUE_STATE = f"""{_STATE} WHERE last_position = (SELECT position FROM log_head WHERE single)
    AND projected_position = (SELECT position FROM report_checkpoint WHERE single) LIMIT 1"""  # noqa: S608  # texts of this file
_SEES_TABLES = text("""
    SELECT bool_and(coalesce(has_table_privilege(to_regclass(name), 'SELECT'), false))
    FROM unnest(ARRAY['log_head', 'report_checkpoint']) name
""")

PIECES_MAX = 100_000
"""Hours, days or weeks of one period; 100,000 hours are eleven years."""

STANDING = (
    "coalesce(greatest(0, date_part('epoch',"
    " least(CAST(:until AS timestamptz), now()) - v.standing_since)), 0)"
)
"""How long a cluster that was not seen to go has stood since its job's last event."""

_CANCELLED = "57014"
"""SQLSTATE of a statement that took too long."""


def ask(engine: Engine, report: Report, question: Question) -> Answer:
    """Return what the report says.

    Raises:
        LedgerMisconfigured: the period has too many hours, days or weeks.
        LedgerUnavailable: it took longer than the connection's statements may take.
        LedgerError: as reading does.
    """
    by = grouped_by(report, question)
    keys = report.keys or tuple(key_column(name, report.dimensions) for name in by)
    values = parameters(report, question)
    with ledger_errors(engine.url), engine.connect() as connection:
        state = health(connection, "last_position, lag_events")
        stale = stale_since(connection)
        try:
            found = run(connection, statement(report, question), values)
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != _CANCELLED:
                raise
            where = describe(engine.url)
            message = f"{where} took too long for {report.name}; ask about a shorter period"
            raise LedgerUnavailable(message) from error
    totals = [_row(item, report.columns) for item in found if item["is_total"]]
    rows = [_row(item, (*keys, *report.columns)) for item in found if not item["is_total"]]
    if not keys:
        rows = totals
    more = len(rows) > question.limit
    return Answer(
        report=report,
        question=question,
        keys=keys,
        rows=rows[: question.limit] if more else without_gaps(rows, report, question),
        total=totals[0] if totals else None,
        more=more,
        events=state["last_position"],
        events_behind=state["lag_events"],
        stale_since=stale,
    )


def health(connection: Connection, columns: str = "*") -> Mapping[str, Any]:
    """Return the one row of the view `controller_health`, or these columns of it.

    Raises:
        LedgerMisconfigured: it has none, as nothing says where the log ends; or several, as
            somebody put a second row beside it, and this user sees the views alone.
    """
    states = run(connection, _STATE.format(columns), {})
    if len(states) > 1 and connection.execute(_SEES_TABLES).scalar_one():
        states = run(connection, _TRUE_STATE.format(columns), {})
    if len(states) != 1:
        raise ends_unknown(connection.engine.url)
    return states[0]


def statement(report: Report, question: Question) -> str:
    """Return the SQL of a question; its parameters are those of `parameters`."""
    by = grouped_by(report, question)
    expressions = {name: expression(name, report.dimensions, report.dated) for name in by}
    keys = "".join(f'{sql} AS "key_{in_sql(name)}", ' for name, sql in expressions.items())
    grouped = ", ".join(f'"key_{in_sql(name)}"' for name in by)
    whole = "".join(f', "key_{in_sql(name)}"' for name in by if name not in report.apart)
    conditions = {name: f" AND {_narrowed(name)}" for name in question.filters}
    of_cause = conditions.pop("cause", "") if "{of_cause}" in report.sql else ""
    parts = {
        "{keys}": keys,
        "{filters}": "".join(conditions.values()),
        "{of_cause}": of_cause,
        "{whole}": whole,
        "{standing}": STANDING,
        "{names}": "".join(f'"key_{one}" AS "{one}", ' for one in map(in_sql, by)),
        "{is_total}": f"(grouping({grouped}) > 0)" if by else "true",
        "{groups}": f"GROUP BY GROUPING SETS (({grouped}), ())" if by else "",
    }
    sql = report.sql
    for place, part in parts.items():
        sql = sql.replace(place, part)
    is_listed = report.listed if by and not in_time_only(by) else ""
    listed = f"WHERE is_total OR {is_listed} " if is_listed else ""
    order = ", ".join([*_order_by_time(by), report.order, *(f'"{in_sql(name)}"' for name in by)])
    return f"SELECT * FROM ({sql}) answer {listed}ORDER BY is_total DESC, {order} LIMIT :rows"  # noqa: S608  # our own words; what was typed goes as parameters


def _narrowed(name: str) -> str:
    """Return the condition of a filter."""
    return OF_FAILURES.get(name) or f"{STANDARD[name].sql} = :is_{name}"


def parameters(report: Report, question: Question) -> dict[str, object]:
    """Return the parameters of `statement`.

    Raises `LedgerMisconfigured` if the period has too many hours, days or weeks.
    """
    return {
        "since": question.since,
        "until": question.until,
        "rows": question.limit + 2,  # one more than shown, and that over everything
        **{f"is_{name}": value for name, value in question.filters.items()},
        **{item.name: question.thresholds.get(item.name) for item in report.thresholds},
        **{f"{name}_starts": _starts(name, question) for name in question.by if name in BUCKETS},
    }


def run(
    connection: Connection, sql: str, values: Mapping[str, object]
) -> Sequence[Mapping[str, Any]]:
    """Return the rows of a query to the views, wherever the views of this ledger are."""
    schema = str(connection.execute(text("SELECT current_schema()")).scalar_one())
    placed = sql.replace(f"{VERSION}.", f"{quoted(schema_of_views(schema))}.")
    return [dict(row) for row in connection.execute(text(placed), dict(values)).mappings()]


def _order_by_time(by: Sequence[str]) -> list[str]:
    return [f'"{name}"' for name in by if name in BUCKETS]


def _starts(bucket: str, question: Question) -> Sequence[Instant]:
    found = starts(bucket, question, PIECES_MAX)
    if len(found) > PIECES_MAX:
        raise LedgerMisconfigured(
            f"the period has more than {PIECES_MAX:,} {bucket}s; ask about a shorter one"
        )
    return found


def _row(found: Mapping[str, Any], columns: Sequence[Column]) -> Row:
    return {column.name: _value(found[in_sql(column.name)], column.unit) for column in columns}


def _value(value: Any, unit: Unit) -> Value:  # noqa: ANN401  # whatever the driver makes of it
    if isinstance(value, Decimal):
        return int(value) if unit is Unit.COUNT else float(value)
    assert value is None or isinstance(value, str | int | float | bool | datetime)
    return value
