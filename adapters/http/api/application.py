"""The routes of the API and what each answers; serving and OpenAPI share this table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from jobledger.adapters.http.api import parameters as asked_for
from jobledger.adapters.http.api.answers import JobDetail, JobPage, Problem, TimelinePage
from jobledger.adapters.http.api.parameters import (
    Asked,
    BadRequest,
    Parameter,
    job_filter,
    stream_of,
)
from jobledger.adapters.serving.standings import standings
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import JobledgerError, LedgerUnavailable
from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.forensics.story.account import Account
from jobledger.core.forensics.story.explain import explain
from jobledger.core.forensics.story.moment import Moment, at_instant, at_version
from jobledger.core.forensics.story.timeline import timeline
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.evidence import EvidenceStore
from jobledger.core.ports.history import History, JobFilter
from jobledger.core.values.instants import Instant, rfc3339

PREFIX = "/api/v1"
JSON, PROBLEM = "application/json", "application/problem+json"
DIGEST_LENGTH = 64
STALE_SINCE = "Jobledger-Stale-Since"
"""Header of an answer of a standby that lags: nothing newer than this instant (RFC 3339)."""

log = get_logger(__name__)


class Sources(Protocol):
    """What the API reads."""

    @property
    def store(self) -> EventStore:
        """The log."""

    @property
    def history(self) -> History:
        """The tables."""

    @property
    def evidence(self) -> EvidenceStore:
        """What was captured."""


Handler = Callable[[Sources, Request], object]
StaleSince = Callable[[], Instant | None]
"""Says since when the ledger, a standby, has taken over nothing; None: its news are of now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One path of the API."""

    path: str
    meaning: str
    answer: type | None
    """Shape of the answer; None: text."""
    handler: Handler
    parameters: tuple[Parameter, ...] = ()


class NotFound(Exception):  # named as a sentence, like the core's
    """There is no such thing."""


def _jobs(sources: Sources, request: Request) -> JobPage:
    asked = Asked(_query(request), asked_for.OF_JOBS)
    limit = asked.limit()
    rows = sources.history.jobs(job_filter(asked), limit + 1)
    more = len(rows) > limit
    shown = tuple(rows[:limit])
    return JobPage(items=shown, next=str(shown[-1].stream_id) if more else None)


def _job(sources: Sources, request: Request) -> JobDetail:
    Asked(_query(request), ())
    stream = stream_of(request.path_params["stream"])
    found = sources.history.jobs(JobFilter(stream_id=stream), 1)
    if not found:
        raise NotFound("there is no such job")
    return JobDetail(
        job=found[0],
        attempts=tuple(sources.history.attempts(stream)),
        decisions=tuple(sources.history.decisions(stream)),
        effects=tuple(sources.history.effects(stream)),
        progress=standings(sources.history, found, SystemClock().now()).get(stream),
    )


def _dossier(sources: Sources, request: Request) -> Dossier:
    stream = stream_of(request.path_params["stream"])
    events = tuple(sources.store.read_stream(stream))
    if not events:
        raise NotFound("there is no such job")
    return Dossier(events=events, evidence=sources.evidence.get, origin="the ledger")


def _timeline(sources: Sources, request: Request) -> TimelinePage:
    asked = Asked(_query(request), asked_for.OF_TIMELINE)
    after, limit = asked.number("after") or 0, asked.limit()
    found = _dossier(sources, request)
    told = timeline((read.version, read.event) for read in found.read())
    lines = tuple(line for line in told if line.version > after)
    more = len(lines) > limit
    shown = lines[:limit]
    return TimelinePage(items=shown, next=shown[-1].version if more else None)


def _moment(sources: Sources, request: Request) -> Moment:
    asked = Asked(_query(request), asked_for.OF_MOMENT)
    version, time = asked.number("version"), asked.instant("time")
    if (version is None) == (time is None):
        raise BadRequest("say either version or time")
    events = _dossier(sources, request).read()
    if time is not None:
        return at_instant(events, time)
    try:
        return at_version(events, version or 0)
    except IndexError as error:
        raise NotFound(str(error)) from error


def _explain(sources: Sources, request: Request) -> Account:
    Asked(_query(request), ())
    return explain(_dossier(sources, request))


def _evidence(sources: Sources, request: Request) -> str:
    Asked(_query(request), ())
    digest = request.path_params["digest"]
    if len(digest) != DIGEST_LENGTH or not all(c in "0123456789abcdef" for c in digest):
        raise BadRequest("evidence is named by 64 hexadecimal digits")
    content = sources.evidence.get(digest)
    if content is None:
        raise NotFound("there is no such evidence")
    return content.decode(errors="replace")


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        path="/jobs",
        meaning="List jobs, the youngest first.",
        answer=JobPage,
        handler=_jobs,
        parameters=asked_for.OF_JOBS,
    ),
    Endpoint(
        path="/jobs/{stream}",
        meaning="One job with its attempts, decisions, effects, and how far its training is.",
        answer=JobDetail,
        handler=_job,
    ),
    Endpoint(
        path="/jobs/{stream}/timeline",
        meaning="What happened to a job, in order and in words.",
        answer=TimelinePage,
        handler=_timeline,
        parameters=asked_for.OF_TIMELINE,
    ),
    Endpoint(
        path="/jobs/{stream}/moment",
        meaning="A job at an instant: what was true, what was known, and how fresh that was.",
        answer=Moment,
        handler=_moment,
        parameters=asked_for.OF_MOMENT,
    ),
    Endpoint(
        path="/jobs/{stream}/explanation",
        meaning="Why a job ended as it did; every sentence with the versions it rests on.",
        answer=Account,
        handler=_explain,
    ),
    Endpoint(
        path="/evidence/{digest}",
        meaning="A piece of evidence, as text.",
        answer=None,
        handler=_evidence,
    ),
)


def api_routes(
    sources: Sources, description: Mapping[str, object], stale_since: StaleSince
) -> list[BaseRoute]:
    """Return the routes; `description` is served as `/api/v1/openapi.json`."""

    def described(request: Request) -> Response:
        del request
        return _json(description)

    routes: list[BaseRoute] = [
        Route(PREFIX + endpoint.path, _served(sources, endpoint, stale_since))
        for endpoint in ENDPOINTS
    ]
    return [*routes, Route(f"{PREFIX}/openapi.json", described)]


def _served(
    sources: Sources, endpoint: Endpoint, stale_since: StaleSince
) -> Callable[[Request], Response]:
    def serve(request: Request) -> Response:
        try:
            stale = stale_since()
            answer = endpoint.handler(sources, request)
        except BadRequest as error:
            return problem(400, "bad request", str(error))
        except NotFound as error:
            return problem(404, "not found", str(error))
        except LedgerUnavailable as error:
            return problem(503, "the ledger is not available", str(error))
        except JobledgerError as error:
            log.warning("api_failed", path=endpoint.path, error=str(error))
            return problem(500, "the ledger cannot be read", str(error))
        age = {} if stale is None else {STALE_SINCE: rfc3339(stale)}
        if isinstance(answer, str):
            return Response(answer, headers=age, media_type="text/plain; charset=utf-8")
        return _json(answer, age)

    return serve


def _query(request: Request) -> Mapping[str, str]:
    """Return the query parameters; each may stand once."""
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadRequest("a parameter stands twice")
    return found


def _json(answer: object, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(answer), headers=headers, media_type=JSON)


def problem(status: int, title: str, detail: str) -> Response:
    """Return why there is no answer."""
    body = msgspec.json.encode(Problem(status=status, title=title, detail=detail))
    return Response(body, status_code=status, media_type=PROBLEM)


def on_http_exception(request: Request, error: Exception) -> Response:
    """Return Starlette's own refusals (no such path, no such method) as problems."""
    del request
    assert isinstance(error, HTTPException)
    answer = problem(error.status_code, error.detail, error.detail)
    answer.headers.update(error.headers or {})
    return answer
