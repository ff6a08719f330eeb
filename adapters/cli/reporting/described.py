"""Describes the reports and what each counts, without reading the ledger."""

import json
import sys

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jobledger.adapters.cli.output import console
from jobledger.adapters.cli.reporting.options import ReportForm
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.dimensions import BUCKETS
from jobledger.adapters.postgres.reports.asking.report import Report


def list_reports(form: ReportForm) -> None:
    """Print every report with a sentence."""
    if form is not ReportForm.TABLE:
        rows = [{"name": item.name, "summary": item.summary} for item in REPORTS.values()]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    made = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    made.add_column("REPORT", no_wrap=True)
    made.add_column("WHAT IT TELLS")
    for item in REPORTS.values():
        made.add_row(Text(item.name), Text(item.summary))
    console.print(made)
    console.print(Text("`jobledger report NAME --describe` says what each counts", style="dim"))


def describe(report: Report, form: ReportForm) -> None:
    """Print the rule, the columns with their units, and what the report can be grouped by."""
    if form is not ReportForm.TABLE:
        sys.stdout.write(json.dumps(described(report), indent=2, ensure_ascii=False) + "\n")
        return
    console.print(Text.assemble((report.name, "bold"), f": {report.summary}"))
    console.print(Padding(Text(report.rule), (1, 2)))
    made = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for title in ("COLUMN", "UNIT", "MEANING"):
        made.add_column(title, no_wrap=title != "MEANING")
    for column in (*report.keys, *report.columns):
        made.add_row(Text(column.name), Text(column.unit.value), Text(column.meaning))
    console.print(made)
    if report.dimensions:
        told = ", ".join(groupings(report))
        console.print(Text(f"\nby {told}; by default {', '.join(report.default_by)}"))


def groupings(report: Report) -> tuple[str, ...]:
    """Return everything that `--by` takes."""
    return (*report.dimensions, *(BUCKETS if report.dated else ()))


def described(report: Report) -> dict[str, object]:
    """Return the same for machines."""
    return {
        "report": report.name,
        "summary": report.summary,
        "rule": report.rule,
        "columns": [
            {"name": column.name, "unit": column.unit.value, "meaning": column.meaning}
            for column in (*report.keys, *report.columns)
        ],
        "by": list(groupings(report)),
        "default_by": list(report.default_by),
        "options": [
            {"name": f"--{item.name.replace('_', '-')}", "meaning": item.meaning}
            for item in report.thresholds
        ],
    }
