"""Prints the attempts of a job, a line each: as `kubectl get` shows a job, and why it ended."""

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict
from rich.text import Text

from jobledger.adapters.cli.output import Output, errors, show
from jobledger.core.jobs.rows import AttemptRow
from jobledger.core.values.durations import span
from jobledger.core.values.instants import Instant

COLUMNS = (
    "attempt",
    "job_status",
    "outcome",
    "cause",
    "reason",
    "ray_cluster_name",
    "started_at",
    "starting",
    "ran",
    "ended_at",
)
"""Those that are empty in every line are left out: not every kind of job has them all."""


def show_attempts(
    output: Output, attempts: Sequence[AttemptRow], causes: Mapping[int, str]
) -> None:
    """Print the attempts; `causes` is what each that failed did so of, as `explain` tells it."""
    if output is not Output.TABLE:
        rows = [{**asdict(row), "cause": causes.get(row.number, "")} for row in attempts]
        show(output, rows, ())
        return
    if not attempts:
        errors.print(Text("no attempt has begun; jobledger explain says why"), soft_wrap=True)
        return
    shown = [_line(row, causes.get(row.number, "")) for row in attempts]
    show(output, shown, [name for name in COLUMNS if any(line[name] for line in shown)])


def _line(row: AttemptRow, cause: str) -> dict[str, object]:
    return {
        **asdict(row),
        "attempt": row.number,
        "outcome": row.outcome or "goes on",
        "cause": cause,
        "starting": _between(row.started_at, row.running_at),
        "ran": _between(row.running_at, row.ended_at),
    }


def _between(begin: Instant | None, end: Instant | None) -> str:
    """Return how long it took; empty if it did not begin, or is not over."""
    if begin is None or end is None:
        return ""
    return span(max(0.0, (end - begin).total_seconds()))
