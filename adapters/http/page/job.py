"""One job: why, when and what, with a cursor that tells what was true and what was known."""

from collections.abc import Collection, Iterable, Sequence

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from jobledger.adapters.http.api.application import NotFound
from jobledger.adapters.http.api.parameters import BadRequest, Parameter, ParameterKind
from jobledger.adapters.http.page.gantt import gantt
from jobledger.adapters.http.page.parts import PageParts, asked, dossier_of, job_of
from jobledger.adapters.http.page.rendering import (
    EVENTS_MAX,
    address,
    etag_of,
    event_address,
    lasting,
    page,
    page_in_parts,
    unless_known,
    when,
)
from jobledger.core.catalogue import NAMES, JobEvent
from jobledger.core.forensics.bundles.dossier import Dossier, ReadEvent
from jobledger.core.forensics.story.account import Account
from jobledger.core.forensics.story.attempts import facts
from jobledger.core.forensics.story.causes import counted_as
from jobledger.core.forensics.story.explain import explained
from jobledger.core.forensics.story.moment import Moment, at_instant, at_version
from jobledger.core.forensics.story.timeline import QUIET, Line, timeline
from jobledger.core.jobs.rows import DecisionRow, JobRow
from jobledger.core.kinds import ROLES, retry_words
from jobledger.core.ports.history import JobFilter
from jobledger.core.values.instants import Instant, parse_rfc3339

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
    level, at, _ = wanted
    found = dossier_of(parts, row)
    events = found.read()
    decisions = parts.sources.history.decisions(row.stream_id)
    return page_in_parts(
        "job.html",
        signed_in=signed_in,
        row=row,
        view="story",
        pending=[one for one in decisions if one.state == "pending"],
        count=len(events),
        level=level,
        at=at,
        moment=moment_of(found, at) if at else None,
        rest=lambda: _rest(parts, row, wanted, found, events, decisions),
    )


def _rest(
    parts: PageParts,
    row: JobRow,
    wanted: tuple[str, str, int],
    found: Dossier,
    events: tuple[ReadEvent, ...],
    decisions: Sequence[DecisionRow],
) -> tuple[object, ...]:
    """Return what of a job takes its time, in the order in which the template names it."""
    level, _, after = wanted
    account, why = explained(found, events)
    levels = {read.version: _level(read.event) for read in events}
    of_level = (one for one in events if LEVELS.index(levels[one.version]) <= LEVELS.index(level))
    every = timeline(((read.version, read.event) for read in of_level), WORDS_MAX)
    lines = [line for line in every if line.version > after]
    shown, show = lines[:EVENTS_MAX], level if level != "main" else ""
    here, then = {one.version for one in shown}, address(f"/jobs/{row.stream_id}", show=show)
    alike = parts.similar(row.stream_id, account.failure_class) if account.failure_class else None
    return (
        account,
        counted_as([read.event for read in events]) if account.failure_class else "",
        alike.sentences if alike is not None else (),
        _worked(parts, row, account),
        gantt(row, facts(read.event for read in events), decisions, parts.now()),
        why,
        {
            version: f"#v{version}" if version in here else event_address(row.stream_id, version)
            for one in account.sentences
            for version in one.versions
        },
        lambda: _items(
            shown,
            f"{then}{'&' if show else '?'}at=",
            events[0].event.at,
            {version for version, its in levels.items() if its == "turns"},
        ),
        address(f"/jobs/{row.stream_id}", show=level, after=shown[-1].version)
        if len(lines) > EVENTS_MAX
        else "",
    )


def _level(event: JobEvent) -> str:
    """Return the first level on which an event is shown."""
    if isinstance(event, _TURNS) or retry_words(event):
        return "turns"
    return "all" if NAMES[type(event)] in QUIET else "main"


def _items(lines: Iterable[Line], then: str, begun: Instant, turns: Collection[int]) -> Markup:
    """Return events as items of a list; of five hundred a template takes several times as long.

    `then` is the address of an instant without its value, `turns` has the versions of what turned
    the story.
    """
    written, attempt, day, then = list[str](), -1, None, str(escape(then))
    for line in lines:
        if (line.attempt, line.at.date()) != (attempt, day):
            attempt, day = line.attempt, line.at.date()
            name = f"Attempt {attempt}" if attempt else "Before the first attempt"
            written.append(f'<li class="split">{name}<span class="day">{day} (UTC)</span></li>')
        number, since = line.version, (line.at - begun).total_seconds()
        written.append(
            f'<li id="v{number}" class="event{" turn" if number in turns else ""}">'
            f'<a class="version" href="#v{number}" title="Link to event {number}">{number}</a>'
            f'<span class="at">{when(line.at, "clock")}</span>'
            f'<span class="since">+{lasting(since)}</span>'
            f'<span class="type">{escape(line.event)}</span>'
            f'<span class="words">{escape(line.words)} <a class="then" href="{then}{number}#moment"'
            ' title="How the job stood when this was written down">then</a></span></li>'
        )
    return Markup("\n".join(written))  # noqa: S704  # what is foreign in it is escaped


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
