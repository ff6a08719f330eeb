"""One job: why, when and what, with a cursor that tells what was true and what was known."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from jobledger.adapters.http.api.application import NotFound
from jobledger.adapters.http.api.parameters import BadRequest, Parameter, ParameterKind
from jobledger.adapters.http.page.gantt import gantt
from jobledger.adapters.http.page.parts import PageParts, asked, dossier_of, job_of
from jobledger.adapters.http.page.rendering import address, etag_of, page, unless_known
from jobledger.core.catalogue import JobEvent
from jobledger.core.forensics.bundles.dossier import Dossier, ReadEvent
from jobledger.core.forensics.story.attempts import facts
from jobledger.core.forensics.story.causes import counted_as
from jobledger.core.forensics.story.explain import Account, explained
from jobledger.core.forensics.story.moment import Moment, at_instant, at_version
from jobledger.core.forensics.story.timeline import QUIET, Line, timeline
from jobledger.core.jobs.rows import JobRow
from jobledger.core.kinds import ROLES, retry_words
from jobledger.core.ports.history import JobFilter
from jobledger.core.values.instants import parse_rfc3339

EVENTS_MAX = 1_000
"""So many events are on a page."""
RUNS_MAX = 50
"""So many runs of the same name are looked through for one that worked."""
WORDS_MAX = 600
LEVELS = ("turns", "main", "all")
"""What is shown of the events: those that turned the story, what `history` shows, and all."""
_TURNS = (
    *ROLES.attempt_started,
    *ROLES.attempt_ended,
    *ROLES.attempt_suspended,
    *ROLES.completed,
    *ROLES.failed,
    *ROLES.deleted,
    *ROLES.manifest_rejected,
)
SHOW = Parameter(name="show", kind=ParameterKind.TEXT, meaning="")
AT = Parameter(name="at", kind=ParameterKind.TEXT, meaning="")
AFTER = Parameter(name="after", kind=ParameterKind.NUMBER, meaning="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An event of the page."""

    line: Line
    since: float
    """Seconds after the first."""
    level: str
    """The first of `LEVELS` on which it is shown."""


def story(parts: PageParts, request: Request) -> Response:
    """Return the first page of a job."""
    given, row = asked(request, SHOW, AT, AFTER), job_of(parts, request)
    level = given.text("show") or "main"
    if level not in LEVELS:
        raise BadRequest(f"show is one of {', '.join(LEVELS)}")
    at, after = given.text("at"), given.number("after") or 0
    signed_in = request.scope.get("signed_in", False)
    tag = etag_of(request.url.query, row, signed_in)
    return unless_known(
        request, tag, lambda: _told(parts, row, (level, at, after), signed_in=signed_in)
    )


def _told(
    parts: PageParts, row: JobRow, wanted: tuple[str, str, int], *, signed_in: bool
) -> Response:
    level, at, after = wanted
    found = dossier_of(parts, row)
    events = found.read()
    account, why = explained(found)
    decisions = parts.sources.history.decisions(row.stream_id)
    told = facts(read.event for read in events)
    every = _events(events)
    lines = [one for one in every if LEVELS.index(one.level) <= LEVELS.index(level)]
    lines = [one for one in lines if one.line.version > after]
    shown = lines[:EVENTS_MAX]
    alike = parts.similar(row.stream_id, account.failure_class) if account.failure_class else None
    return page(
        "job.html",
        signed_in=signed_in,
        row=row,
        view="story",
        account=account,
        counted=counted_as([read.event for read in events]),
        alike=alike.sentences if alike is not None else (),
        worked=_worked(parts, row, account),
        chart=gantt(row, told, decisions, parts.now()),
        causes=why,
        pending=[one for one in decisions if one.state == "pending"],
        events=shown,
        count=len(every),
        level=level,
        at=at,
        moment=moment_of(found, at) if at else None,
        links={one.line.version: _link(row, one, level) for one in every},
        next=address(f"/jobs/{row.stream_id}", show=level, after=shown[-1].line.version)
        if len(lines) > EVENTS_MAX
        else "",
    )


def _link(row: JobRow, one: Shown, level: str) -> str:
    """Return where an event stands: on this page, or on the one that shows all."""
    anchor = f"#v{one.line.version}"
    if LEVELS.index(one.level) <= LEVELS.index(level):
        return anchor
    return address(f"/jobs/{row.stream_id}", show="all") + anchor


def _events(events: Sequence[ReadEvent]) -> list[Shown]:
    told = timeline(((read.version, read.event) for read in events), WORDS_MAX)
    begun = events[0].event.at
    return [
        Shown(line=line, since=(line.at - begun).total_seconds(), level=_level(read.event, line))
        for read, line in zip(events, told, strict=True)
    ]


def _level(event: JobEvent, line: Line) -> str:
    if isinstance(event, _TURNS) or retry_words(event):
        return "turns"
    return "all" if line.event in QUIET else "main"


def _worked(parts: PageParts, row: JobRow, account: Account) -> str:
    """Return the address of a comparison with a run that worked; empty if there is none."""
    if not account.failure_class:
        return ""
    same = JobFilter(cluster=row.cluster, namespace=row.namespace, name=row.name, phase="Complete")
    runs = parts.sources.history.jobs(same, RUNS_MAX)
    other = next((one for one in runs if one.uid != row.uid), None)
    return "" if other is None else address("/compare", here=row.stream_id, there=other.stream_id)


def moment(parts: PageParts, request: Request) -> Response:
    """Return a part of a page: how a job stood at an instant."""
    given, row = asked(request, AT), job_of(parts, request)
    found = moment_of(dossier_of(parts, row), given.text("at"))
    return page("moment.html", moment=found, row=row)


def moment_of(found: Dossier, at: str) -> Moment:
    """Return a job at a version, or at an instant.

    Raises:
        BadRequest: it is neither.
        NotFound: there is no such version.
    """
    events = found.read()
    if at.isascii() and at.isdecimal() and len(at) <= 9:  # noqa: PLR2004  # digits of a version
        try:
            return at_version(events, int(at))
        except IndexError as error:
            raise NotFound(f"{error}.") from error
    instant = parse_rfc3339(at)
    if instant is None:
        raise BadRequest("an instant is written as 2026-11-21T03:00:00Z, a version as 61")
    return at_instant(events, instant)
