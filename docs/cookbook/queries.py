"""Every query that the documents promise to be quick, to be timed: recipes and reports."""  # noqa: INP001 see recipe.py

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from docs.cookbook.recipes import RECIPES
from jobledger.adapters.postgres.reports.asking.asking import parameters, statement
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Question


class Query(NamedTuple):
    """A query as SQLAlchemy's `text` takes it, for a ledger whose views are in `report_v1`."""

    name: str
    sql: str
    parameters: Mapping[str, object]


def documented_queries(end: datetime, days: int = 7) -> Iterator[Query]:
    """Yield each recipe and each report (cut as it is without `--by`) for the days before `end`."""
    since = end - timedelta(days=days)
    for number, recipe in enumerate(RECIPES, 1):
        sql = recipe.statement(since, end).replace(":", "\\:")  # a colon is no parameter here
        yield Query(f"cookbook {number}: {recipe.question}", sql, {})
    for report in REPORTS.values():
        asked = Question(
            since=since,
            until=end,
            by=report.default_by,
            thresholds={item.name: item.default for item in report.thresholds},
        )
        yield Query(f"report {report.name}", statement(report, asked), parameters(report, asked))
