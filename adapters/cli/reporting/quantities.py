"""Formats the values of a report for people, by their unit; machine formats keep them as is.

Names are what somebody's job says: they may hold anything and be of any length.
"""

from datetime import datetime, tzinfo

from jobledger.adapters.postgres.reports.asking.report import Column, Row, Unit, Value

NOTHING = "-"
"""Stands for a value that there is none of."""

TEXT_MAX = 330
"""Characters of a text that are shown: of namespace and name, or an image with its digest, all."""

_MINUTE, _HOUR, _DAY = 60, 3600, 86400

_BUCKETS = {"hour": "%Y-%m-%d %H:%M", "day": "%Y-%m-%d %a", "week": "week of %Y-%m-%d"}
"""How the beginning of an hour, a day, a week is written."""


def written(value: Value, column: Column, zone: tzinfo) -> str:
    """Return a value as it stands in a table for people."""
    if isinstance(value, datetime):
        return value.astimezone(zone).strftime(_BUCKETS.get(column.name, "%Y-%m-%d %H:%M:%S"))
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and column.unit.is_number:
        return quantity(value, column.unit)
    return _printable(str(value)) or "(none)"


def _printable(text: str) -> str:
    """Return a text on one line that commands no terminal, its middle left out if it is long."""
    if len(text) > TEXT_MAX:
        half = TEXT_MAX // 2
        text = f"{text[:half]}…{text[-half:]}"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def number_in(row: Row, measure: Column) -> float | None:
    """Return the number of a row in a column; None if it has none."""
    value = row.get(measure.name)
    return float(value) if isinstance(value, int | float) else None


def quantity(value: float, unit: Unit) -> str:
    """Return a number of a unit: 1,234; 12.5 %; 4m 05s; of cluster-seconds 49.2 h."""
    if unit is Unit.SHARE:
        return f"{value * 100:.1f} %"
    if unit in {Unit.COUNT, Unit.NUMBER}:
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
    if unit is Unit.MONEY:
        return f"{value:,.2f}"
    if unit in {Unit.CLUSTER_SECONDS, Unit.RESOURCE_SECONDS} and value >= _HOUR / 100:
        return f"{value / _HOUR:,.1f} h" if value >= _HOUR else f"{value / _HOUR:.2f} h"
    return duration(value)


def duration(seconds: float) -> str:
    """Return seconds in the two largest units that say something: 850 ms, 4.2 s, 3h 05m, 2d 04h."""
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{seconds:.1f} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m {whole % _MINUTE:02}s"
    minutes = round(seconds / _MINUTE)
    if minutes * _MINUTE < _DAY:
        return f"{minutes // 60}h {minutes % 60:02}m"
    hours = round(seconds / _HOUR)
    return f"{hours // 24:,}d {hours % 24:02}h"
