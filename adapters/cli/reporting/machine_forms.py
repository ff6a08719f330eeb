"""Writes an answer as JSON, CSV or Parquet, with stable names, units and column order.

Amounts stand in their unit (seconds, parts of one), instants with their offset from UTC in the time
zone that was asked for.
"""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import fail
from jobledger.adapters.postgres.reports.asking.report import Answer, Column, Row, Unit, Value
from jobledger.core.values.visible_text import not_calculated, visible_json

SCHEMA = 1
"""Grows when a name of the JSON document changes its meaning or goes; more may come at any time."""


def as_json(answer: Answer) -> str:
    """Return the answer as one document that explains itself."""
    asked = answer.question
    document = {
        "schema": SCHEMA,
        "report": answer.report.name,
        "rule": " ".join(answer.report.rule.split()),
        "since": _instant(asked.since, answer),
        "until": _instant(asked.until, answer),
        "timezone": str(asked.zone),
        "by": list(asked.by),
        "filters": dict(asked.filters),
        "thresholds": {name: _threshold(value) for name, value in asked.thresholds.items()},
        "columns": [
            {"name": column.name, "unit": column.unit.value, "meaning": column.meaning}
            for column in answer.columns
        ],
        "rows": [_plain(row, answer) for row in answer.rows],
        "total": None if answer.total is None else _plain(answer.total, answer),
        "more": answer.more,
        "events_behind": answer.events_behind,
        "stale_since": answer.stale_since and _instant(answer.stale_since, answer),
    }
    return visible_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def as_csv(answer: Answer) -> str:
    """Return a line of names and a line per row (RFC 4180, but lines end as on Unix).

    Names come from whoever makes jobs: what a terminal would obey is written out, and a text that a
    spreadsheet would calculate begins with an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(column.name for column in answer.columns)
    for row in answer.rows:
        plain = _plain(row, answer)
        writer.writerow(_field(plain[column.name]) for column in answer.columns)
    return text.getvalue()


def as_parquet(answer: Answer) -> bytes:
    """Return a Parquet file; units and meanings stand in the metadata of its columns.

    Ends with a message if pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415  # 0.3 s and 100 MB that few need
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        fail(
            "Parquet needs pyarrow; install it with: pip install 'jobledger[parquet]'",
            ExitCode.MISCONFIGURED,
        )
    fields = [
        pa.field(
            column.name,
            _arrow(column.unit, pa),
            metadata={"unit": column.unit.value, "meaning": column.meaning},
        )
        for column in answer.columns
    ]
    asked = answer.question
    about = {
        "jobledger.report": answer.report.name,
        "jobledger.since": _instant(asked.since, answer),
        "jobledger.until": _instant(asked.until, answer),
        "jobledger.timezone": str(asked.zone),
    }
    rows = [{column.name: row.get(column.name) for column in answer.columns} for row in answer.rows]
    table = pa.Table.from_pylist(rows, schema=pa.schema(fields, metadata=about))
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


_LENGTHS = frozenset({Unit.SECONDS, Unit.CLUSTER_SECONDS, Unit.RESOURCE_SECONDS})


def _arrow(unit: Unit, pa: Any) -> Any:  # noqa: ANN401  # pyarrow has no types
    match unit:
        case Unit.COUNT:
            return pa.int64()
        case (
            Unit.SECONDS
            | Unit.CLUSTER_SECONDS
            | Unit.RESOURCE_SECONDS
            | Unit.MONEY
            | Unit.NUMBER
            | Unit.SHARE
        ):
            return pa.float64()
        case Unit.INSTANT:
            return pa.timestamp("us", tz="UTC")
        case Unit.FLAG:
            return pa.bool_()
        case Unit.TEXT:
            return pa.string()


def _plain(row: Row, answer: Answer) -> dict[str, Value]:
    return {column.name: _value(row.get(column.name), column, answer) for column in answer.columns}


def _value(value: Value, column: Column, answer: Answer) -> Value:
    if isinstance(value, datetime):
        return _instant(value, answer)
    if isinstance(value, float) and column.unit in _LENGTHS:
        return round(value, 6)  # microseconds: Postgres knows no more
    return value


def _field(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return not_calculated(value)
    return str(value)


def _instant(value: datetime, answer: Answer) -> str:
    zone = answer.question.zone
    return value.astimezone(zone).isoformat().replace("+00:00", "Z" if zone is UTC else "+00:00")


def _threshold(value: timedelta | float | None) -> float | None:
    return value.total_seconds() if isinstance(value, timedelta) else value
