"""Pages about the whole ledger: what is due, how the controller is, two jobs side by side."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from jobledger.adapters.http.api.application import NotFound
from jobledger.adapters.http.api.parameters import BadRequest, Parameter, ParameterKind
from jobledger.adapters.http.page.parts import PageParts, asked, dossier_of
from jobledger.adapters.http.page.rendering import page_for, unless_known
from jobledger.adapters.http.page.views import change_of, generations
from jobledger.core.forensics.bundles.dossier import Dossier, ReadEvent
from jobledger.core.forensics.comparing.compare import Comparison, compare
from jobledger.core.forensics.comparing.documents import differing
from jobledger.core.forensics.story.explain import explained
from jobledger.core.forensics.story.kept import kept
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, JobRow
from jobledger.core.ports.history import JobFilter
from jobledger.core.values.ids import SHARDS, StreamId
from jobledger.core.values.instants import Instant

PENDING_MAX = 200
CHOICES = 30
"""So many runs are offered to compare with."""
FIRST, SECOND = (
    Parameter(name=name, kind=ParameterKind.NUMBER, meaning="", least=1)
    for name in ("attempt", "other")
)
HERE = Parameter(name="here", kind=ParameterKind.STREAM, meaning="")
THERE = Parameter(name="there", kind=ParameterKind.TEXT, meaning="")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A decision that is still to come."""

    row: DecisionRow
    job: JobRow | None
    is_late: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptLine:
    """One thing about two attempts."""

    what: str
    here: object
    there: object


def pending(parts: PageParts, request: Request) -> Response:
    """Return what is due, the earliest first."""
    asked(request)
    now = parts.now()
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
        return page_for(request, "pending.html", due=shown, **told)

    return unless_known(request, ("pending", rows, due), make)


def _jobs(parts: PageParts, streams: Sequence[StreamId]) -> Mapping[StreamId, JobRow]:
    if not streams:
        return {}
    found = parts.sources.history.jobs(JobFilter(streams=tuple(streams)), len(streams))
    return {row.stream_id: row for row in found}


def health(parts: PageParts, request: Request) -> Response:
    """Return how the controller and its ledger are."""
    asked(request)
    findings = tuple(parts.health())
    worst = next((one for one in ("bad", "warn") if any(f.look == one for f in findings)), "good")
    return unless_known(
        request,
        ("health", findings),
        lambda: page_for(request, "health.html", findings=findings, worst=worst),
    )


def compare_jobs(parts: PageParts, request: Request) -> Response:
    """Return what differs between two jobs; without the second, what it may be."""
    given = asked(request, HERE, THERE, FIRST, SECOND)
    here, there = given.stream("here"), given.text("there").strip()
    if here is None:
        raise BadRequest("say which job: `here` is its stream_id")
    row = _row(parts, here)
    same = JobFilter(namespace=row.namespace, text=_family(row.name), kind=row.kind)
    found = parts.sources.history.jobs(same, CHOICES + 1)
    other = _meant(parts, there, row) if there else None
    found_here = dossier_of(parts, row)
    told: Comparison | None = None
    if other is not None:
        told = compare(found_here, dossier_of(parts, other))
    chosen = given.number("attempt"), given.number("other")
    attempts = parts.sources.history.attempts(row.stream_id)
    sides = [one for number in chosen for one in attempts if one.number == number]
    if any(chosen) and len(sides) != len(chosen):
        raise NotFound("This job has no two such attempts.")
    return page_for(
        request,
        "compare.html",
        row=row,
        other=other,
        told=told,
        view="compare",
        attempts=attempts,
        sides=sides,
        lines=_side_by_side(found_here, sides) if sides else (),
        changes=_changed_between(found_here, sides) if sides else (),
        choices=[one for one in found if one.stream_id != row.stream_id],
    )


def _side_by_side(found: Dossier, sides: Sequence[AttemptRow]) -> list[AttemptLine]:
    """Return what there is to say of two attempts, beside each other."""
    events = found.read()
    why = explained(found, events)[1]
    logs = {one.number: _logs(events, one.number) for one in sides}
    columns = [
        {
            "outcome": one.outcome or "goes on",
            "cause": why.get(one.number, ""),
            "reason": one.reason,
            "message": one.message,
            "Ray says": one.job_status,
            "RayCluster": one.ray_cluster_name,
            "started": one.started_at,
            "starting": _seconds(one.started_at, one.running_at),
            "ran": _seconds(one.running_at, one.ended_at),
            "ended": one.ended_at,
            "generation": one.generation,
            "retried": "yes" if one.retried else "no",
            "logs": logs[one.number],
        }
        for one in sides
    ]
    first, second = columns
    lines = (AttemptLine(what=name, here=first[name], there=second[name]) for name in first)
    return [one for one in lines if one.here or one.there]


def _logs(events: Sequence[ReadEvent], attempt: int) -> tuple[tuple[str, str], ...]:
    """Return name and digest of the logs that were kept of an attempt."""
    return tuple((o.source, o.digest) for o in kept(events) if o.digest and o.attempt == attempt)


def _seconds(begin: Instant | None, end: Instant | None) -> float | None:
    return None if begin is None or end is None else (end - begin).total_seconds()


def _changed_between(
    found: Dossier, sides: Sequence[AttemptRow]
) -> tuple[tuple[str, str, str], ...]:
    """Return path and both values of what the manifest said otherwise when each attempt began."""
    said = [generations(found.read(), upto=one.started_at) for one in sides]
    before, now = (told[-1].document if told else {} for told in said)
    return tuple(change_of(place) for place in differing(before, now))


def _meant(parts: PageParts, there: str, here: JobRow) -> JobRow:
    """Return the job that is meant: by its page, its UID, or its name as the commands take it."""
    space, _, name = there.rpartition("/")
    wanted = [JobFilter(uid=there)]
    if name:
        wanted.append(JobFilter(namespace=space or here.namespace, name=name))
    if marks := _UUID.findall(there.lower()):
        wanted = [JobFilter(stream_id=StreamId(UUID(marks[-1]))), JobFilter(uid=marks[-1])]
    for one in wanted:
        for row in parts.sources.history.jobs(one, 2):
            if row.stream_id != here.stream_id:
                return row
    raise NotFound("The ledger knows no such other job. It may have been archived.")


def _family(name: str) -> str:
    """Return the part of a name that other runs of the same thing share: without its last word."""
    return name.rpartition("-")[0] or name


def _row(parts: PageParts, stream: StreamId) -> JobRow:
    found = parts.sources.history.jobs(JobFilter(stream_id=stream), 1)
    if not found:
        raise NotFound("The ledger knows no such job. It may have been archived.")
    return found[0]
