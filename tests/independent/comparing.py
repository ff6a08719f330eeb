"""Asks both reckonings the same question, and says where they differ."""

import math
from collections.abc import Iterator, Mapping
from datetime import timedelta

from sqlalchemy import Engine, text

from bench.population.population import END
from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Question
from jobledger.core.values.instants import Instant
from tests.independent.base import BASE
from tests.independent.queries import QUERIES
from tests.independent.stays import stuck

YEAR = timedelta(days=365)
HELD = (*QUERIES, "stuck")
"""Every report that is held against the events."""

ROWS_MAX = 100_000
CLOSE_RELATIVE, CLOSE_SECONDS = 1e-9, 1e-3

Numbers = Mapping[str, Mapping[str, object]]
"""Group -> column -> value."""


def first(
    engine: Engine, name: str, columns: tuple[str, ...], since: Instant, until: Instant
) -> Numbers:
    """Return what the report says, those columns of it."""
    report = REPORTS[name]
    question = Question(
        since=since,
        until=until,
        by=("namespace",) if report.dimensions else (),
        thresholds={item.name: item.default for item in report.thresholds},
        limit=ROWS_MAX,
    )
    told = ask(engine, report, question)
    return {
        " ".join(str(row[key.name]) for key in told.keys): {one: row[one] for one in columns}
        for row in told.rows
    }


def second(engine: Engine, name: str, since: Instant, until: Instant) -> Numbers:
    """Return what the events say."""
    if name == "stuck":
        return stuck(engine, since, until)
    with engine.connect() as connection:
        asked = {"since": since, "until": until}
        rows = connection.execute(text(BASE + QUERIES[name]), asked).mappings().all()
    found = [[(str(name), value) for name, value in row.items()] for row in rows]
    return {str(first_one[1]): dict(rest) for first_one, *rest in found}


def differences(
    engine: Engine, reading: Engine, name: str, since: Instant = END - YEAR, until: Instant = END
) -> Iterator[str]:
    """Yield a line for each number in which a report and the events differ.

    Args:
        engine: Connections of somebody who may read the events.
        reading: Connections for reports.
        name: Which report.
        since: The first instant that counts.
        until: The first that does not.
    """
    told = second(engine, name, since, until)
    columns = tuple(next(iter(told.values()), {}))
    reported = first(reading, name, columns, since, until)
    for group in sorted(told.keys() | reported.keys()):
        one, other = reported.get(group, {}), told.get(group, {})
        for column in columns:
            if not alike(one.get(column), other.get(column)):
                yield f"{name}, {group}, {column}: {one.get(column)} and {other.get(column)}"


def alike(one: object, other: object) -> bool:
    """Return whether two values are the same number, as far as sums of floats can be."""
    numbers = (int, float)
    if isinstance(one, numbers) and other is not None and not isinstance(other, str):
        return math.isclose(
            one,
            float(other),  # type: ignore[arg-type] # a number of the database
            rel_tol=CLOSE_RELATIVE,
            abs_tol=CLOSE_SECONDS,
        )
    return one == other
