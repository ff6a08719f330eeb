"""How a job stands, how far it says that it is, and how to ask why it failed, for people."""

from collections.abc import Callable, Iterable, Sequence

from rich.text import Text

from jobledger.adapters.cli.output import console, errors
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.jobs.history.progress import progress_in_words
from jobledger.core.jobs.rows import JobRow
from jobledger.core.kinds import KINDS, NEW

FAILED = frozenset({"Failed", "ValidationFailed", "JobsBuildFailed", "JobsCreationFailed"})
"""Phases of jobs of which one asks why."""


def phase_shown(row: JobRow) -> str:
    """Return the phase of a job for people; of one that was deleted before it ended, that it was.

    So `get` and `history` have it; JSON has phase and deletion each by itself.
    """
    is_cut_off = row.deleted_at is not None and row.ended_at is None
    return f"deleted while {row.phase or NEW}" if is_cut_off else row.phase


def tell_standing(row: JobRow | None, events: Sequence[ReadEvent]) -> None:
    """Print how far a job that still runs is; nothing of another, or where it never reported."""
    reports = KINDS[row.kind].log.progress if row is not None else None
    if row is None or reports is None or not reports.may_come(row):
        return
    of_kind = KINDS[row.kind].event_types[reports.event_type]
    report = next((one.event for one in reversed(events) if isinstance(one.event, of_kind)), None)
    if report is None:
        return
    found = reports.standing(row, report, SystemClock().now())
    style = "yellow" if found.silent else "cyan"
    line = progress_in_words(reports.words(report), found)
    console.print(Text(f"training: {line}", style=style), soft_wrap=True)


def failed_of(rows: Iterable[JobRow | None]) -> Sequence[JobRow]:
    """Return those jobs of several that failed."""
    return [row for row in rows if row is not None and row.phase in FAILED]


def suggest_explain(rows: Iterable[JobRow | None], named: Callable[[JobRow], str]) -> None:
    """Print the command that explains the first failed job of several; nothing if none failed.

    `named` says how it is asked for.
    """
    failed = failed_of(rows)
    for row in failed[:1]:
        which = "it" if len(failed) == 1 else "one of them"
        line = f"why {which} failed: jobledger explain {named(row)}"
        errors.print(Text(line, style="cyan"), soft_wrap=True)
