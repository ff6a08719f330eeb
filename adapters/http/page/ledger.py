"""Pages about the whole ledger: what is due, how the controller is, two jobs side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from jobledger.adapters.http.api.application import NotFound
from jobledger.adapters.http.api.parameters import BadRequest, Parameter, ParameterKind
from jobledger.adapters.http.page.parts import PageParts, asked, dossier_of
from jobledger.adapters.http.page.rendering import etag_of, page, unless_known
from jobledger.core.forensics.comparing.compare import Comparison, compare
from jobledger.core.jobs.rows import DecisionRow, JobRow
from jobledger.core.ports.history import JobFilter
from jobledger.core.values.ids import SHARDS, StreamId

PENDING_MAX = 200
CHOICES = 30
"""So many runs are offered to compare with."""
HERE, THERE = (Parameter(name=n, kind=ParameterKind.STREAM, meaning="") for n in ("here", "there"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A decision that is still to come."""

    row: DecisionRow
    job: JobRow | None
    is_late: bool


def pending(parts: PageParts, request: Request) -> Response:
    """Return what is due, the earliest first."""
    asked(request)
    now, signed_in = parts.now(), request.scope.get("signed_in", False)
    rows = parts.pending.pending(frozenset(range(SHARDS)), PENDING_MAX + 1)
    due = [one.decision_id for one in rows if one.due_at <= now]

    def make() -> Response:
        jobs = _jobs(parts, [row.stream_id for row in rows[:PENDING_MAX]])
        shown = tuple(
            Due(row=row, job=jobs.get(row.stream_id), is_late=row.due_at <= now)
            for row in rows[:PENDING_MAX]
        )
        soon = sum(one.row.due_at <= now + timedelta(hours=1) for one in shown)
        told = {"more": len(rows) > PENDING_MAX, "soon": soon, "late": len(due)}
        return page("pending.html", signed_in=signed_in, due=shown, **told)

    return unless_known(request, etag_of("pending", rows, due, signed_in), make)


def _jobs(parts: PageParts, streams: Sequence[StreamId]) -> Mapping[StreamId, JobRow]:
    """Return the jobs of these streams; each is one look by its key."""
    found = {}
    for stream in dict.fromkeys(streams):
        for row in parts.sources.history.jobs(JobFilter(stream_id=stream), 1):
            found[stream] = row
    return found


def health(parts: PageParts, request: Request) -> Response:
    """Return how the controller and its ledger are."""
    asked(request)
    findings = tuple(parts.health())
    signed_in = request.scope.get("signed_in", False)
    worst = next((one for one in ("bad", "warn") if any(f.look == one for f in findings)), "good")
    return unless_known(
        request,
        etag_of("health", findings, signed_in),
        lambda: page("health.html", signed_in=signed_in, findings=findings, worst=worst),
    )


def compare_jobs(parts: PageParts, request: Request) -> Response:
    """Return what differs between two jobs; without the second, what it may be."""
    given = asked(request, HERE, THERE)
    here, there = given.stream("here"), given.stream("there")
    if here is None:
        raise BadRequest("say which job: `here` is its stream_id")
    row = _row(parts, here)
    same = JobFilter(namespace=row.namespace, text=_family(row.name), kind=row.kind)
    found = parts.sources.history.jobs(same, CHOICES + 1)
    other = None if there is None else _row(parts, there)
    told: Comparison | None = None
    if other is not None:
        told = compare(dossier_of(parts, row), dossier_of(parts, other))
    return page(
        "compare.html",
        signed_in=request.scope.get("signed_in", False),
        row=row,
        other=other,
        told=told,
        view="compare",
        choices=[one for one in found if one.stream_id != row.stream_id],
    )


def _family(name: str) -> str:
    """Return the part of a name that other runs of the same thing share: without its last word."""
    return name.rpartition("-")[0] or name


def _row(parts: PageParts, stream: StreamId) -> JobRow:
    found = parts.sources.history.jobs(JobFilter(stream_id=stream), 1)
    if not found:
        raise NotFound("The ledger knows no such job. It may have been archived.")
    return found[0]
