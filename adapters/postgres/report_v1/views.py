"""The list of reporting views, and the SQL that creates and drops them."""

from collections.abc import Iterator
from dataclasses import replace

from jobledger.adapters.postgres.report_v1.model import ReportView
from jobledger.adapters.postgres.report_v1.of_controller import DECISIONS, GAPS, HEALTH, HOURS
from jobledger.adapters.postgres.report_v1.of_failures import FAILURES, RETRIES, START
from jobledger.adapters.postgres.report_v1.of_jobs import ATTEMPTS, JOBS, PHASES
from jobledger.adapters.postgres.report_v1.of_resources import RESOURCES

VERSION = "report_v1"

VIEWS = (
    JOBS,
    ATTEMPTS,
    PHASES,
    FAILURES,
    RETRIES,
    START,
    DECISIONS,
    GAPS,
    HOURS,
    HEALTH,
    RESOURCES,
)
"""In the order of the documentation."""

MEANING = "Reporting views, version 1: stable, one fact per row; see docs/reference/report-views.md"


def schema_of_views(schema: str) -> str:
    """Return the schema of the views of a ledger whose tables are in `schema`.

    `report_v1` beside `public`; beside any other its name comes first, so that two ledgers in one
    database have views of their own.
    """
    return VERSION if schema == "public" else f"{schema}_{VERSION}"


def creation(schema: str, readers: str, upto: str) -> Iterator[str]:
    """Yield the statements that make the schema, the views, their comments and grants.

    They are the views that there were in the revision `upto`, with the columns that they had.
    """
    ours = quoted(schema_of_views(schema))
    yield f"CREATE SCHEMA {ours}"
    yield f"COMMENT ON SCHEMA {ours} IS {literal(MEANING)}"
    yield f"GRANT USAGE ON SCHEMA {ours} TO {readers}"
    for view in (one for one in VIEWS if one.since <= upto):
        yield from view_creation(view, schema, readers, upto)


def view_creation(view: ReportView, schema: str, readers: str, upto: str) -> Iterator[str]:
    """Yield the statements that make a view, or give it the columns that it lacks."""
    name = f"{quoted(schema_of_views(schema))}.{view.name}"
    fields = [field for field in view.fields if field.since <= upto]
    shown = replace(view, fields=fields)
    yield f"CREATE OR REPLACE VIEW {name} AS {select(shown, quoted(schema))}"
    yield f"COMMENT ON VIEW {name} IS {literal(view.meaning)}"
    for field in fields:
        yield f"COMMENT ON COLUMN {name}.{field.name} IS {literal(field.comment)}"
    yield f"GRANT SELECT ON {name} TO {readers}"


def removal(schema: str) -> Iterator[str]:
    """Yield the statements that remove all of it."""
    ours = quoted(schema_of_views(schema))
    for view in reversed(VIEWS):
        yield f"DROP VIEW IF EXISTS {ours}.{view.name}"
    yield f"DROP SCHEMA {ours}"


def select(view: ReportView, schema: str) -> str:
    """Return the query of a view over the tables of a schema, whose name is quoted."""
    columns = ", ".join(f"{field.source} AS {field.name}" for field in view.fields)
    return f"SELECT {columns} FROM {view.origin}".replace("{schema}", schema)  # noqa: S608 our own names


def quoted(name: str) -> str:
    """Return an identifier as it stands in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as it stands in SQL."""
    return "'" + text.replace("'", "''") + "'"
