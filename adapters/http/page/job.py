"""One job: why, when and what, with a cursor that tells what was true and what was known."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

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
    event_address,
    lasting,
    page,
    page_in_parts,
    unless_known,
    when,
)
from jobledger.core.catalogue import NAMES, JobEvent
from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.bundles.dossier import Dossier, ReadEvent
from jobledger.core.forensics.story.account import Account
from jobledger.core.forensics.story.causes import counted_as
from jobledger.core.forensics.story.explain import explained
from jobledger.core.forensics.story.moment import Moment, at_instant, at_version, version_in
from jobledger.core.forensics.story.timeline import QUIET, Line, timeline
from jobledger.core.jobs.rows import DecisionRow, JobRow
from jobledger.core.kinds import ROLES, retry_words
from jobledger.core.ports.history import JobFilter
from jobledger.core.values.instants import Instant, parse_rfc3339

_Event = TypeVar("_Event", ReadEvent, Line)

RUNS_MAX = 50
"""So many runs of the same name are looked through for one that worked."""
WORDS_MAX = 600
LEVELS = ("turns", "main", "all")
"""What is shown of the events: those that turned the story, what `history` shows, and all."""

AT_ONCE = 30
"""Events that are there when a page is drawn first; scripts bring in the others after that."""
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
PLAIN = Parameter(name="plain", kind=ParameterKind.FLAG, meaning="")
"""Whether all events of the page are to be seen without scripts."""


def story(parts: PageParts, request: Request) -> Response:
    """Return the first page of a job."""
    given, row = asked(request, SHOW, AT, AFTER, PLAIN), job_of(parts, request)
    level = given.text("show") or "main"
    if level not in LEVELS:
        raise BadRequest(f"show is one of {', '.join(LEVELS)}")
    at, after = given.text("at"), given.number("after") or 0
    wanted = level, at, after, given.flag("plain")
    told = request.url.query, row
    return unless_known(request, told, lambda: _told(parts, request, row, wanted))


def _told(
    parts: PageParts, request: Request, row: JobRow, wanted: tuple[str, str, int, bool]
) -> Response:
    level, at, after, plain = wanted
    found = dossier_of(parts, row)
    events = found.read()
    decisions = parts.sources.history.decisions(row.stream_id)
    return page_in_parts(
        request,
        "job.html",
        row=row,
        view="story",
        pending=[one for one in decisions if one.state == "pending"],
        count=len(events),
        level=level,
        at=at,
        moment=moment_of(found, at) if at else None,
        why=_Asked(
            parts=parts,
            row=row,
            level=level,
            after=after,
            plain=plain,
            found=found,
            events=events,
            decisions=decisions,
        ).why,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What of a job is asked for, and what was read for it."""

    parts: PageParts
    row: JobRow
    level: str
    after: int
    plain: bool
    found: Dossier
    events: tuple[ReadEvent, ...]
    decisions: Sequence[DecisionRow]

    def why(self) -> tuple[object, ...]:
        """Return why the job stands so, and how to go on, in the order of the template's names.

        It is sent before the rest is made, which takes as long again.
        """
        levels = {read.version: _level(read.event) for read in self.events}
        wanted = LEVELS.index(self.level)
        of_level = [r for r in self.events if LEVELS.index(levels[r.version]) <= wanted]
        account, causes = explained(self.found, self.events)
        here, stream = {read.version for read in self._shown(of_level)}, self.row.stream_id
        links = {
            version: f"#v{version}" if version in here else event_address(stream, version)
            for one in account.sentences
            for version in one.versions
        }
        return account, links, lambda: self._rest(account, causes, levels, of_level)

    def _rest(
        self,
        account: Account,
        causes: Mapping[int, str],
        levels: Mapping[int, str],
        of_level: Sequence[ReadEvent],
    ) -> tuple[object, ...]:
        parts, row = self.parts, self.row
        every, failed_as = [read.event for read in self.events], account.failure_class
        alike = parts.similar(row.stream_id, failed_as) if failed_as else None
        shown = self._shown(of_level)
        return (
            counted_as(account, every),
            alike.sentences if alike is not None else (),
            _worked(parts, row, account),
            gantt(row, facts(every), self.decisions, parts.now()),
            causes,
            lambda: self._items(of_level, levels),
            address(f"/jobs/{row.stream_id}", show=self.level, after=self.after or "", plain="true")
            if len(shown) > AT_ONCE and not self.plain
            else "",
            address(f"/jobs/{row.stream_id}", show=self.level, after=shown[-1].version)
            if shown and shown[-1] is not of_level[-1]
            else "",
        )

    def _shown(self, of_level: Iterable[_Event]) -> Sequence[_Event]:
        """Return the events of this page."""
        return [one for one in of_level if one.version > self.after][:EVENTS_MAX]

    def _items(self, of_level: Sequence[ReadEvent], levels: Mapping[int, str]) -> Markup:
        every = ((read.version, read.event) for read in of_level)
        lines = self._shown(timeline(every, WORDS_MAX))
        show = self.level if self.level != "main" else ""
        then = f"?show={show}&at=" if show else "?at="
        turns = {version for version, its in levels.items() if its == "turns"}
        at_once = len(lines) if self.plain else AT_ONCE
        return _items(lines, then, self.events[0].event.at, turns, at_once)


def _level(event: JobEvent) -> str:
    """Return the first level on which an event is shown."""
    if isinstance(event, _TURNS) or retry_words(event):
        return "turns"
    return "all" if NAMES[type(event)] in QUIET else "main"


def _items(
    lines: Sequence[Line], then: str, begun: Instant, turns: Collection[int], at_once: int
) -> Markup:
    """Return events as items of a list; of five hundred a template takes several times as long.

    `then` is the address of an instant without its value, `turns` has the versions of what turned
    the story; of all lines so many are seen `at_once`, the others scripts bring in.
    """
    written, attempt, day, then = list[str](), -1, None, str(escape(then))
    for place, line in enumerate(lines):
        if place == at_once:
            written.append("<template data-later>")
        if (line.attempt, line.at.date()) != (attempt, day):
            attempt, day = line.attempt, line.at.date()
            name = f"Attempt {attempt}" if attempt else "Before the first attempt"
            written.append(f'<li class="split">{name}<span class="day">{day} (UTC)</span></li>')
        number, since = line.version, (line.at - begun).total_seconds()
        sign = "+" if since >= 0 else "-"  # a replica's clock may be behind another's
        written.append(
            f'<li id="v{number}" class="event{" turn" if number in turns else ""}">'
            f'<a class="version" href="#v{number}" title="Link to event {number}">{number}</a>'
            f'<span class="at">{when(line.at, "clock")}</span>'
            f'<span class="since">{sign}{lasting(since)}</span>'
            f'<span class="type">{escape(line.event)}</span>'
            f'<span class="words">{escape(line.words)} <a class="then" href="{then}{number}#moment"'
            ' title="How the job stood when this was written down">then</a></span></li>'
        )
    if len(lines) > at_once:
        written.append("</template>")
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
    if (version := version_in(at)) is not None:
        try:
            return at_version(events, version)
        except IndexError as error:
            raise NotFound(f"{error}.") from error
    instant = parse_rfc3339(at)
    if instant is None:
        raise BadRequest("an instant is written as 2026-11-21T03:00:00Z, a version as 61")
    return at_instant(events, instant)
