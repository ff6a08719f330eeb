"""The page of the reports: what each counts, its columns with their units, what it is cut by."""  # noqa: INP001 see generate.py

from collections.abc import Iterator

from docs.reference.from_code.attributes import cell
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.dimensions import BUCKETS, FILTERS, OF_FAILURES
from jobledger.adapters.postgres.reports.asking.report import Report

HEAD = """# Reports

What `jobledger report NAME` counts. How they are used, with pictures:
[Reports](../howto/report.md). The views that they read, for questions of your own:
[the reporting views](report-views.md) and the [cookbook](../howto/cookbook.md).

Periods are half-open: what happened at `--since` counts, what happened at `--until` does not.
Lengths of time are seconds, shares go from 0 to 1. Cluster-seconds are seconds that one RayCluster
or JobSet was held; two at once count twice. A row over everything stands at the end of a table and
as `total` in JSON. Columns keep their names and meanings; new ones may come.
"""

CUT = """## What reports are cut by

`--by` takes one or more of these, with commas; some reports have others besides. A piece of time
begins where `--timezone` says. If rows are grouped by one piece of time alone, empty pieces are
rows too.

| dimension | meaning |
|---|---|"""


def reports_page() -> str:
    """Return the page."""
    return "\n".join(line for part in (_head(), *map(_report, REPORTS.values())) for line in part)


def _head() -> Iterator[str]:
    yield HEAD
    yield CUT
    first = next(iter(REPORTS.values()))
    for name in (*FILTERS, "runtime"):
        yield f"| `{name}` | {cell(first.dimensions[name].meaning)} |"
    for name, meaning in BUCKETS.items():
        yield f"| `{name}` | {cell(meaning)} |"
    filters = ", ".join(f"`--{name}`" for name in FILTERS)
    yield f"\nEvery report can be narrowed by {filters}.\n"


def _report(report: Report) -> Iterator[str]:
    yield f"## {report.name}\n"
    yield f"{report.summary} {report.rule}\n"
    yield "| column | unit | meaning |"
    yield "|---|---|---|"
    for column in (*report.keys, *report.columns):
        yield f"| `{column.name}` | {column.unit.value} | {cell(column.meaning)} |"
    own = [name for name in report.dimensions if name not in (*FILTERS, "runtime")]
    if own:
        yield "\nIt can also be cut by\n"
        yield from (f"* `{name}`: {report.dimensions[name].meaning}" for name in own)
    for name in OF_FAILURES.keys() & report.dimensions.keys():
        yield f"\n`--{name}` narrows it to one, or to a retry group."
    if report.default_by:
        yield f"\nWithout `--by`: {', '.join(f'`{name}`' for name in report.default_by)}."
    for item in report.thresholds:
        yield f"\n`--{item.name.replace('_', '-')}`: {item.meaning}."
    yield ""
