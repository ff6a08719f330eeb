"""Writes the reference from the code: `python -m docs.reference.generate`, `--check` to compare.

What a page says stands in docstrings, table comments and help texts; here is only their layout. A
test holds the committed pages against what this makes.
"""  # noqa: INP001 run with -m from the top of the repository, never installed

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from docs.reference.from_code.cli import cli_page, exit_codes_page
from docs.reference.from_code.doctor import doctor_page
from docs.reference.from_code.effects import decisions_page, effects_page
from docs.reference.from_code.events import events_page
from docs.reference.from_code.failure_classes import failure_classes_page
from docs.reference.from_code.job_phases import job_phases_page
from docs.reference.from_code.metrics import metrics_page
from docs.reference.from_code.phases import phases_page
from docs.reference.from_code.report_views import report_views_page
from docs.reference.from_code.reports import reports_page
from docs.reference.from_code.settings import settings_page
from docs.reference.from_code.tables import tables_page
from docs.reference.from_code.trainjob_phases import trainjob_phases_page

HERE = Path(__file__).parent
MARK = "<!-- Made from the code by `python -m docs.reference.generate`. Change the code. -->\n\n"

PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "decisions.md": decisions_page,
    "doctor.md": doctor_page,
    "effects.md": effects_page,
    "events.md": events_page,
    "exit-codes.md": exit_codes_page,
    "failure-classes.md": failure_classes_page,
    "job-phases.md": job_phases_page,
    "metrics.md": metrics_page,
    "phases.md": phases_page,
    "report-views.md": report_views_page,
    "reports.md": reports_page,
    "settings.md": settings_page,
    "tables.md": tables_page,
    "trainjob-phases.md": trainjob_phases_page,
}
"""File name -> what makes it."""


def pages() -> Mapping[str, str]:
    """Return every page of the reference as it should be, by file name."""
    return {name: page_of(name) for name in PAGES}


def page_of(name: str) -> str:
    """Return one page as it should be."""
    return MARK + PAGES[name]().rstrip() + "\n"


def stale() -> list[str]:
    """Return the names of the pages that are not as the code says."""
    return [
        name
        for name, content in pages().items()
        if not (HERE / name).is_file() or (HERE / name).read_text() != content
    ]


def main() -> int:
    """Write the pages, or with `--check` say which are stale."""
    if "--check" in sys.argv[1:]:
        names = stale()
        sys.stdout.write("".join(f"docs/reference/{name} is stale\n" for name in names))
        return 1 if names else 0
    for name, content in pages().items():
        (HERE / name).write_text(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
