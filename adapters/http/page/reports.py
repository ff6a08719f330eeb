"""Reports: numbers about many jobs, drawn, with the SQL behind them and as CSV."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response

from jobledger.adapters.http.api.application import NotFound
from jobledger.adapters.http.api.parameters import BadRequest, Parameter, ParameterKind
from jobledger.adapters.http.page.listing import PERIODS
from jobledger.adapters.http.page.parts import (
    Cell,
    PageParts,
    ReportColumn,
    ReportNamed,
    Reports,
    ReportTold,
    asked,
)
from jobledger.adapters.http.page.rendering import HEADERS, address, page_for
from jobledger.core.values.durations import span
from jobledger.core.values.instants import Instant
from jobledger.core.values.visible_text import not_calculated

PERIOD = "7d"
_K = ParameterKind
FIELDS = (
    Parameter(name="by", kind=_K.TEXT, meaning=""),
    Parameter(name="period", kind=_K.TEXT, meaning=""),
    Parameter(name="from", kind=_K.INSTANT, meaning=""),
    Parameter(name="until", kind=_K.INSTANT, meaning=""),
)
HOUR_TENTH = 360
"""From so many seconds on what was held of a resource is told in hours, as the command does."""
CSV_ROWS_MAX = 20_000
"""They are in memory, of several downloads at a time."""
LONGER = {"90d": timedelta(days=90), "365d": timedelta(days=365)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BarDrawn:
    """A row of a drawing."""

    label: str
    value: str
    width: float
    """In percent of the largest; of a share, in percent of the whole."""


def listed(parts: PageParts, request: Request) -> Response:
    """Return which reports there are."""
    asked(request)
    named = parts.reports.listed() if parts.reports is not None else ()
    return page_for(request, "reports.html", named=named, one=None, told=None)


def asked_for(parts: PageParts, request: Request) -> Response:
    """Return the answer of a report."""
    one, told, given = _answer(parts, request)
    bars = tuple(
        BarDrawn(
            label=" · ".join(text_of(row[one.name], one) for one in told.columns[: told.keys])
            or "everything",
            value=text_of(row[told.bar], _column(told)),
            width=_width(row, told),
        )
        for row in told.rows
    )
    return page_for(
        request,
        "reports.html",
        named=_reports(parts).listed(),
        one=one,
        told=told,
        bars=bars,
        given=given,
        periods=(*PERIODS, *LONGER),
        text_of=text_of,
        csv=address(f"/reports/{one.name}/csv", **given),
    )


def as_csv(parts: PageParts, request: Request) -> Response:
    """Return the answer of a report as CSV, all of it: times in UTC, durations in seconds."""
    one, told, _ = _answer(parts, request, CSV_ROWS_MAX)
    if told.more:
        raise BadRequest(f"it has more than {CSV_ROWS_MAX:,} rows; ask about a shorter period")
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow([column.name for column in told.columns])
    for row in told.rows:
        table.writerow([_for_csv(row[column.name]) for column in told.columns])
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{one.name}.csv"'}
    return Response(written.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _answer(
    parts: PageParts, request: Request, most: int | None = None
) -> tuple[ReportNamed, ReportTold, Mapping[str, str]]:
    given, reports = asked(request, *FIELDS), _reports(parts)
    name, by, period = request.path_params["name"], given.text("by"), given.text("period")
    lengths = {**PERIODS, **LONGER}
    if period and period not in lengths:
        raise BadRequest(f"period is one of {', '.join(lengths)}")
    until = given.instant("until") or parts.now()
    since = given.instant("from") or _before(until, lengths[period or PERIOD])
    if since >= until:
        raise BadRequest("the period has no length")
    one = next((item for item in reports.listed() if item.name == name), None)
    if one is None:
        raise NotFound("There is no such report.")
    if by and by not in one.dimensions:
        raise BadRequest(f"by is one of {', '.join(one.dimensions)}")
    query = {key: value for key, value in request.query_params.items() if value}
    return one, reports.ask(name, by, since, until, most), {"period": PERIOD, **query}


def _before(until: Instant, length: timedelta) -> Instant:
    try:
        return until - length
    except OverflowError as error:
        raise BadRequest("the period begins before the year 1") from error


def _reports(parts: PageParts) -> Reports:
    if parts.reports is None:
        raise NotFound("This ledger has no reports.")
    return parts.reports


def _column(told: ReportTold) -> ReportColumn:
    return next(column for column in told.columns if column.name == told.bar)


def _width(row: Mapping[str, Cell], told: ReportTold) -> float:
    values = [value for one in told.rows if isinstance(value := one[told.bar], int | float)]
    whole = 1 if _column(told).unit == "share" else max(values, default=0)
    value = row[told.bar]
    return round(100 * value / whole, 2) if isinstance(value, int | float) and whole > 0 else 0.0


def text_of(value: Cell, column: ReportColumn) -> str:
    """Return a cell for people."""
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        if column.unit in ("seconds", "cluster-seconds"):
            return span(value)
        if column.unit == "resource-seconds":
            return f"{value / 3600:,.1f} h" if value >= HOUR_TENTH else span(value)
        if column.unit == "money":
            return f"{value:,.2f}"
        return f"{value:.1%}" if column.unit == "share" else f"{round(value, 2):,}"
    return value or "(none)"


def _for_csv(value: Cell) -> Cell:
    """Return a cell that no spreadsheet takes for a formula."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return not_calculated(value) if isinstance(value, str) else value
