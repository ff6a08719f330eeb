"""Further pages of a job: its manifest through its generations, its decisions, another policy."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from jobledger.adapters.http.api.parameters import Asked, BadRequest, Parameter, ParameterKind
from jobledger.adapters.http.page.parts import PageParts, asked, dossier_of, job_of
from jobledger.adapters.http.page.rendering import page_for, unless_known
from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.bundles.dossier import Dossier, ReadEvent
from jobledger.core.forensics.comparing.documents import Place, differing
from jobledger.core.forensics.replay.changes import Change
from jobledger.core.forensics.replay.same_cluster import judged_facts
from jobledger.core.forensics.replay.what_if import ASSUMPTIONS, Answer, ask
from jobledger.core.forensics.story.causes import with_causes
from jobledger.core.jobs.failures.naming import read_rule
from jobledger.core.jobs.retries.options import Growth
from jobledger.core.kinds import ROLES
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant

_K = ParameterKind
NO_DEADLINE = "seconds; 0: none"
NUMBERS = (
    ("backoff_limit", "Retries (backoffLimit)", "how many"),
    ("delay_seconds", "Pause before the first retry", "seconds"),
    ("delay_max_seconds", "Longest pause", "seconds"),
    ("uncounted_max", "Retries that do not count", "at most so many"),
    (
        "active_deadline_seconds",
        "Deadline of each attempt (activeDeadlineSeconds)",
        NO_DEADLINE,
    ),
    (
        "pre_running_deadline_seconds",
        "Deadline until it runs (preRunningDeadlineSeconds)",
        NO_DEADLINE,
    ),
    ("job_deadline_seconds", "Deadline over all attempts", NO_DEADLINE),
    ("ttl_seconds", "Shutdown after the end (ttlSecondsAfterFinished)", "seconds"),
)
"""Numbers of another policy: field of `Change`, name, unit."""
FORM = (
    *(Parameter(name=name, kind=_K.NUMBER, meaning=hint) for name, _, hint in NUMBERS),
    Parameter(name="growth", kind=_K.TEXT, meaning=""),
    Parameter(name="retry", kind=_K.TEXT, meaning=""),
    Parameter(name="same_cluster", kind=_K.FLAG, meaning=""),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The manifest as it came once."""

    version: int
    at: Instant
    number: int
    """Which of those that came, from 1."""
    document: Manifest
    text: str
    """The same as JSON, as it was kept."""
    changes: tuple[tuple[str, str, str], ...]
    """Path, before and now, of what changed since the one before."""


def manifest(parts: PageParts, request: Request) -> Response:
    """Return the manifests that came, each with what changed."""
    asked(request)
    row = job_of(parts, request)

    def make() -> Response:
        found = generations(dossier_of(parts, row).read())
        shown = found[::-1]
        return page_for(request, "job/manifest.html", row=row, view="manifest", generations=shown)

    return unless_known(request, ("manifest", row), make)


def generations(events: Sequence[ReadEvent], upto: Instant | None = None) -> list[Generation]:
    """Return the manifests that came, in order; one that says the same as before is left out.

    With an instant, those that had come by then.
    """
    found: list[Generation] = []
    before: Manifest = {}
    for read in events:
        event = read.event
        if not isinstance(event, ROLES.manifest_received) or not event.document:
            continue
        if upto is not None and read.occurred_at > upto:
            continue
        changes = differing(before, event.document) if before else ()
        if before == event.document:
            continue
        told = Generation(
            version=read.version,
            at=read.occurred_at,
            number=len(found) + 1,
            document=event.document,
            text=json.dumps(event.document, ensure_ascii=False, indent=2),
            changes=tuple(change_of(place) for place in changes),
        )
        found.append(told)
        before = event.document
    return found


def change_of(place: Place) -> tuple[str, str, str]:
    """Return a path and how its two values are shown."""

    def shown(value: object) -> str:
        if value is None:
            return ""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return place.path, shown(place.here), shown(place.there)


def decisions(parts: PageParts, request: Request) -> Response:
    """Return what was resolved for later, and how late it came."""
    asked(request)
    row = job_of(parts, request)
    found = parts.sources.history.decisions(row.stream_id)

    def make() -> Response:
        return page_for(request, "job/decisions.html", row=row, view="decisions", decisions=found)

    return unless_known(request, ("decisions", row, found), make)


def what_if(parts: PageParts, request: Request) -> Response:
    """Return a form for another policy, and what would have become of the job."""
    given, row = asked(request, *FORM), job_of(parts, request)
    change, wrong, answer = Change(), "", None
    try:
        change = changed(given)
    except BadRequest as error:
        wrong = str(error)
    if change != Change():
        answer = answered(dossier_of(parts, row), change)
    return page_for(
        request,
        "job/what_if.html",
        400 if wrong else 200,
        row=row,
        view="what-if",
        numbers=NUMBERS,
        growths=tuple(Growth),
        given=dict(request.query_params),
        wrong=wrong,
        answer=answer,
        assumptions=ASSUMPTIONS,
    )


def changed(given: Asked) -> Change:
    """Return another policy; raise `BadRequest` if it makes no sense."""
    growth, retry = given.text("growth"), given.text("retry")
    try:
        rules = tuple(read_rule(one.strip()) for one in retry.split(",")) if retry else None
        grows = Growth(growth) if growth else None
    except ValueError as error:
        raise BadRequest(str(error)) from error
    numbers = {name: given.number(name) for name, _, _ in NUMBERS}
    flag = given.flag("same_cluster")
    return Change(growth=grows, rules=rules, same_cluster=flag, **numbers)


def answered(found: Dossier, change: Change) -> Answer:
    """Return what the other policy would have made of a job."""
    events = [read.event for read in found.read()]
    told = (judged_facts if change.same_cluster else facts)(events)
    return ask(with_causes(told, events) if change.rules is not None else told, change)
