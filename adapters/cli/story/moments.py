"""Prints the state of a job at an instant: what was true beside what was known."""

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.table import Table
from rich.text import Text

from jobledger.adapters.cli.output import console, print_table
from jobledger.core.forensics.story.moment import Moment, Picture
from jobledger.core.values.instants import Instant

FIELDS = (
    "phase",
    "job_status",
    "reason",
    "message",
    "attempt",
    "retries",
    "failed",
    "succeeded",
    "ray_cluster_name",
    "ray_job_id",
    "started_at",
    "ended_at",
    "deleted_at",
)
"""Columns of the table `job` that are shown."""


def tell_moment(moment: Moment) -> None:
    """Print a moment."""
    console.print(Text(f"at {_instant(moment.at)}", style="bold"))
    both = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("", "TRUE", "KNOWN"):
        both.add_column(title)
    for name, true, known in _fields(moment):
        both.add_row(name, Text(true), Text(known, style="yellow" if true != known else ""))
    console.print(both)
    if moment.not_known:
        versions = ", ".join(str(version) for version in moment.not_known)
        console.print(f"true by then and written down later: versions {versions}")
    console.print(Text("last seen", style="bold"))
    rows = [
        {
            "part": part.part,
            "changed_at": part.changed_at,
            "confirmed_at": part.confirmed_at,
            "seconds_before": f"{(moment.at - part.confirmed_at).total_seconds():.1f}",
            "version": part.version,
            "maybe_stale_since": part.maybe_stale_since,
        }
        for part in moment.parts
    ]
    columns = tuple(rows[0]) if rows else ("part",)
    print_table(rows, columns)


def _fields(moment: Moment) -> Iterator[tuple[str, str, str]]:
    yield "version", _version(moment.true), _version(moment.known)
    for field in FIELDS:
        true, known = _field(moment.true, field), _field(moment.known, field)
        if true or known:
            yield field.replace("_", " "), true, known
    yield "due later", _pending(moment.true), _pending(moment.known)
    yield "under way", _under_way(moment.true), _under_way(moment.known)


def _version(picture: Picture) -> str:
    return str(picture.version) if picture.version else "nothing yet"


def _field(picture: Picture, name: str) -> str:
    value: object = getattr(picture.job, name, None)
    if isinstance(value, datetime):
        return _instant(value)
    return "" if value in (None, "", 0) else str(value)


def _pending(picture: Picture) -> str:
    return "\n".join(f"{row.kind} at {_instant(row.due_at)}" for row in picture.pending) or "-"


def _under_way(picture: Picture) -> str:
    return "\n".join(f"{row.kind} {row.target}" for row in picture.under_way) or "-"


def _instant(at: Instant) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"
