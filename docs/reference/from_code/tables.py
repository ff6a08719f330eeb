"""The page of the database: tables, columns, functions, roles."""  # noqa: INP001 see generate.py

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql

import jobledger.adapters.postgres
from docs.reference.from_code.attributes import cell
from jobledger.adapters.postgres.connection.engine import APP_ROLE, OLDEST_POSTGRES, REPORT_ROLE
from jobledger.adapters.postgres.schema.tables import metadata

HEAD = f"""\
# The database

PostgreSQL {OLDEST_POSTGRES // 10000} or newer. The comments below are in the database too
(`\\d+ job` in psql). `event` is the log; `job`, `attempt`, `decision` and `effect` follow from it
and are written in the same transaction.

* `{APP_ROLE}` may read everything and call the functions; it may write no table. The service
  takes it on.
* `{REPORT_ROLE}` may read everything, the tables `report_…` by way of the reporting views only.

Queries on these tables may have to change with a release, which the change log then says. What may
be relied upon are the [reporting views](report-views.md); the tables `report_…` are behind them.
"""

FUNCTIONS = Path(jobledger.adapters.postgres.__file__).parent / "sql"


def tables_page() -> str:
    """Return the page."""
    tables = (line for table in metadata.tables.values() for line in _table(table))
    return "\n".join((HEAD, *tables, *_functions()))


def _table(table: Table) -> Iterator[str]:
    yield f"## {table.name}\n"
    keys = ", ".join(f"`{column.name}`" for column in table.primary_key.columns)
    yield f"{table.comment}. Key: {keys}.\n"
    yield "| column | type | null | meaning |"
    yield "|---|---|---|---|"
    for column in table.columns:
        kind = column.type.compile(dialect=postgresql.dialect())  # type: ignore[no-untyped-call]  # untyped there
        null = "yes" if column.nullable else ""
        yield f"| `{column.name}` | {kind.lower()} | {null} | {cell(column.comment or '')} |"
    yield ""


def _functions() -> Iterator[str]:
    yield "## Functions\n"
    for path in sorted(FUNCTIONS.glob("*.sql")):
        if path.stem != "create_roles_v1":
            yield f"### {path.stem}\n"
            yield f"{_paragraphs(path)}\n"


def _paragraphs(path: Path) -> str:
    """Return the comment that a file opens with."""
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return "\n".join(lines)
