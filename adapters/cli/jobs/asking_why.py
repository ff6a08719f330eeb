"""Says how to ask why a job failed: on standard error, for people."""

from collections.abc import Iterable

from rich.text import Text

from jobledger.adapters.cli.output import errors
from jobledger.core.jobs.rows import JobRow

FAILED = frozenset({"Failed", "ValidationFailed", "JobsBuildFailed", "JobsCreationFailed"})
"""Phases of jobs of which one asks why."""


def suggest_explain(rows: Iterable[JobRow | None], file: str = "") -> None:
    """Print the command that explains the first failed job of several; nothing if none failed.

    `file` is the bundle that it was read from, if it was.
    """
    failed = [row for row in rows if row is not None and row.phase in FAILED]
    for row in failed[:1]:
        which = "it" if len(failed) == 1 else "one of them"
        named = file or f"{row.namespace}/{row.name}"
        line = f"why {which} failed: jobledger explain {named}"
        errors.print(Text(line, style="cyan"), soft_wrap=True)
