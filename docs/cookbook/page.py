"""The page of the cookbook: every question with its SQL, its command and its answer."""  # noqa: INP001 see recipe.py

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from sqlalchemy import Engine

from docs.cookbook.recipe import Recipe
from docs.cookbook.recipes import CHAPTERS

MARK = "<!-- Made by `python -m docs.cookbook.generate`. Change docs/cookbook. -->\n\n"

HEAD = """# Cookbook

Questions that a platform team asks, each with the SQL, the command where there is one, and the
answer on the sample data: invented, the same on every machine. A test asks all of them and compares
the answers with this page.

The SQL reads the [reporting views](../reference/report-views.md) and nothing else, so it stays
right when tables change. Any user with the role `jobledger_report` may ask it:

```console
$ psql "$(jobledger db url)"    # of a private ledger: while `jobledger run` or `serve` runs
```

Put your own period in place of the dates. Periods are half-open (`>=` the first, `<` the last), and
they stand on the column that has an index: so an answer takes less than a second however long the
log is. What the commands count is said in [Reports](../reference/reports.md). To try it on the
sample data, put it into an empty ledger, at the top of a checkout:

```console
$ . .venv/bin/activate
$ export JOBLEDGER_DATA_DIR=/tmp/jobledger-cookbook
$ jobledger serve --port 8090 &    # keeps a private Postgres there; its page is on the sample too
$ DATABASE_URL="$(jobledger db url)" python -m docs.cookbook.load
```

The sample is for questions, not for proofs: the names of its RayClusters are invented, so
`jobledger replay`, which decides everything anew, finds on it that no job is decided as it was.
"""


def page(engine: Engine, end: datetime) -> str:
    """Return the page, with the answers of a database that holds the sample data up to `end`."""
    return MARK + "\n".join(_lines(engine, end)).rstrip() + "\n"


def answered(engine: Engine, recipe: Recipe, end: datetime) -> list[list[str]]:
    """Return the answer about the period before `end` as cells, the names of the columns first."""
    statement = recipe.statement(end - timedelta(days=recipe.days), end)
    with engine.connect() as connection:
        found = connection.exec_driver_sql(statement.replace("%", "%%"))
        return [list(found.keys()), *([_cell(value) for value in row] for row in found)]


def _lines(engine: Engine, end: datetime) -> Iterator[str]:
    yield HEAD
    number = 0
    for chapter, recipes in CHAPTERS.items():
        yield f"## {chapter}\n"
        for recipe in recipes:
            number += 1
            yield f"### {number}. {recipe.question}\n"
            yield from _recipe(engine, recipe, end)


def _recipe(engine: Engine, recipe: Recipe, end: datetime) -> Iterator[str]:
    since = end - timedelta(days=recipe.days)
    statement = recipe.statement(since, end)
    if recipe.words:
        yield f"{recipe.words}\n"
    yield f"```sql\n{statement};\n```\n"
    if recipe.command:
        yield f"```console\n$ {recipe.command} --since {_day(since)} --until {_day(end)}\n```\n"
    yield "```text"
    yield from _table(answered(engine, recipe, end))
    yield "```\n"


def _day(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d}"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numbers = [all(_is_number(cell) for cell in column[1:]) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, numbers, strict=True)
        yield "  ".join(
            cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells
        ).rstrip()
    if len(rows) == 1:
        yield "(none)"


def _is_number(cell: str) -> bool:
    return not cell or cell.replace(".", "", 1).replace("-", "", 1).isdigit()


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
