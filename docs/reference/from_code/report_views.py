"""The page of the reporting views: every view and column, as the database's comments say."""  # noqa: INP001 see generate.py

from collections.abc import Iterator

from docs.reference.from_code.attributes import cell
from jobledger.adapters.postgres.connection.engine import REPORT_ROLE
from jobledger.adapters.postgres.report_v1.model import ReportView
from jobledger.adapters.postgres.report_v1.views import VERSION, VIEWS
from jobledger.core.projections.reporting.user_labels import USER_LABELS

HEAD = f"""\
# Reporting views

The schema `{VERSION}` of the ledger's database: one fact per row, no JSON, to be relied upon. The
role `{REPORT_ROLE}` may read it. Views keep their names, columns, types and meanings as long as
their schema keeps its name; columns may be added. What cannot be kept comes as a further schema
beside it ([decision 0012](../decisions/0012-reporting-views.md)). The comments below are in the
database too (`\\d+ {VERSION}.jobs` in psql). If the ledger's tables are not in the schema `public`
but in `other`, the views are in `other_{VERSION}`.

* Instants are `timestamp with time zone`; how they are shown follows from the session's time zone.
* Intervals are half-open: their first instant belongs to them, their end does not. Ask for a day
  with `created_at >= '2026-11-09' AND created_at < '2026-11-10'`; each view says which of its
  columns is indexed for that.
* Lengths of time are seconds as `double precision`. Texts are never null: unknown is empty.
* Cluster, namespace, framework, runtime, queue, user and image are those of the job's manifest as
  it is now. The user is the first of these labels, or else annotations, that is there (setting
  `report_user_labels`): {", ".join(f"`{label}`" for label in USER_LABELS)}.
* The views follow the log by a moment; `controller_health` says by how much, and so do the metrics
  `jobledger_report_lag_events` and `jobledger_report_lag_seconds`. `jobledger rebuild --reports`
  computes all of it anew while it is being read, `jobledger rebuild --reports --check` compares.
* An archived job stays in the views when its events leave. A column that is newer than the archive
  is null of it, until `jobledger rebuild --reports --archives` has read the files.
"""


def report_views_page() -> str:
    """Return the page."""
    return "\n".join((HEAD, *(line for view in VIEWS for line in _view(view))))


def _view(view: ReportView) -> Iterator[str]:
    yield f"## {view.name}\n"
    order = f" Range of time: `{view.order}`." if view.order else ""
    yield f"{view.meaning}.{order}\n"
    yield "| column | type | unit | null | meaning |"
    yield "|---|---|---|---|---|"
    for one in view.fields:
        meaning = cell(one.meaning)
        yield f"| `{one.name}` | {one.kind} | {one.unit} | {cell(one.null)} | {meaning} |"
    yield ""
