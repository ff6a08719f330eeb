"""Makes pages of templates: everything foreign is escaped, and shown rather than obeyed."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC
from pathlib import Path
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import JobledgerError
from jobledger.core.forensics.story.going_on import THEN
from jobledger.core.jobs.pending.decisions import DECISION_WORDS, DecisionKind
from jobledger.core.values.durations import span
from jobledger.core.values.excerpts import gist
from jobledger.core.values.instants import Instant
from jobledger.core.values.visible_text import visible

log = get_logger(__name__)

PREFIX = "/page"
HERE = Path(__file__).parent
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[^/]/)(?=[^/])")
GIST_MAX = 300
EVENTS_MAX = 1_000
"""So many events of a job are on a page."""
REST = "<!-- the rest -->"
"""Stands in a template where its page may be sent in two parts."""
HTML = "text/html; charset=utf-8"

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What every answer of the pages carries. `same-origin`, since a form that is sent without a
referrer has the origin `null`, by which nobody can tell it from a stranger's."""

LOOKS: Mapping[str, str] = {
    "Complete": "good",
    "succeeded": "good",
    "stopped": "good",
    "fired": "good",
    "Failed": "bad",
    "failed": "bad",
    "lost": "bad",
    "ValidationFailed": "bad",
    "JobsBuildFailed": "bad",
    "JobsCreationFailed": "bad",
    "Retrying": "warn",
    "pending": "warn",
    "requested": "warn",
    "Suspended": "held",
    "Suspending": "held",
    "suspended": "held",
    "Running": "live",
}
"""How the phase of a job, the outcome of an attempt or the state of a decision is drawn."""


def look(word: str) -> str:
    """Return the class by which a phase, outcome or state is drawn."""
    return LOOKS.get(word, "calm")


def when(at: Instant | None, form: str = "coarse") -> Markup:
    """Return an instant in UTC; the script puts the reader's own time before it.

    `form` is coarse (to the second), fine (to the millisecond) or clock (fine, without the day).
    """
    if at is None:
        return Markup('<span class="none">never</span>')
    machine = at.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    day, _, clock = machine.removesuffix("Z").partition("T")
    told = clock.partition(".")[0] if form == "coarse" else clock
    shown = told if form == "clock" else f"{day} {told} UTC"
    written = f'<time datetime="{machine}" data-form="{form}">{shown}</time>'
    return Markup(written)  # noqa: S704  # made of an instant, and of a word of ours


def lasting(seconds: float | None) -> str:
    """Return a duration for people; a dash where it is not known."""
    return "-" if seconds is None else span(abs(seconds))


def _shown(value: object) -> object:
    """Return what an expression of a template puts out: foreign text with its controls written."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


def _gist(value: object) -> str:
    """Return a value as text; of a long one its beginning, and the line that tells most."""
    return gist(str(value), GIST_MAX)


def _json_text(value: object) -> str:
    """Return a value as JSON, as text: it is escaped like any other."""
    return json.dumps(value, ensure_ascii=False)


def _with_code(told: str) -> Markup:
    """Return words of ours, with what stands between backquotes as code."""
    parts = [escape(visible(part)) for part in told.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part
        for place, part in enumerate(parts)
    )


def _breakable(told: str) -> Markup:
    """Return a text that may be broken between the words of BackoffLimitExceeded, or after a /."""
    parts = [escape(visible(part)) for part in HUMP.split(told)]
    return Markup("<wbr>").join(parts)


def _then(kind: str) -> str:
    """Return what happens when a decision of a kind falls due."""
    return THEN[DecisionKind(kind)]


def _asset_mark() -> str:
    """Return what changes with the static files: they are asked for by it."""
    content = b"".join(path.read_bytes() for path in sorted((HERE / "static").iterdir()))
    return hashlib.sha256(content).hexdigest()[:12]


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters.update({"when": when, "lasting": lasting, "look": look})
    made.filters.update(
        {
            "tojson_text": _json_text,
            "gist": _gist,
            "then": _then,
            "decision": DECISION_WORDS.__getitem__,
        }
    )
    made.filters.update({"with_code": _with_code, "breakable": _breakable})
    made.globals.update({"prefix": PREFIX, "mark": _asset_mark(), "address": address})
    made.globals.update({"event_address": event_address, "stale": None})
    return made


def address(path: str, **query: object) -> str:
    """Return an address of a page; what is empty is left out of the query."""
    given = {key: str(value) for key, value in query.items() if value not in (None, "", False)}
    return f"{PREFIX}{path}" + (f"?{urlencode(given)}" if given else "")


def event_address(stream: object, version: int) -> str:
    """Return where an event of a job stands among all of them."""
    before = (version - 1) // EVENTS_MAX * EVENTS_MAX
    return address(f"/jobs/{stream}", show="all", after=before or "") + f"#v{version}"


TEMPLATES = _environment()


def _etag_of(*parts: object) -> str:
    """Return the tag of a page that follows from these."""
    told = "\x00".join(str(part) for part in parts)
    return f'"{hashlib.sha256(told.encode(errors="surrogatepass")).hexdigest()[:32]}"'


def unless_known(
    request: Request, told: tuple[object, ...], make: Callable[[], Response]
) -> Response:
    """Return an answer, or 304 if whoever asks has one that tells the same already."""
    tag = _etag_of(*told, *of_request(request).values())
    asked = ",".join(request.headers.getlist("if-none-match"))
    known = {one.strip().removeprefix("W/") for one in asked.split(",")}  # a proxy weakens it
    answer = Response(status_code=304) if known & {tag, "*"} else make()
    answer.headers["ETag"] = tag
    return answer


def of_request(request: Request) -> dict[str, object]:
    """Return what the frame of a page says: who asks, and how old the answer is."""
    scope = request.scope
    return {"signed_in": bool(scope.get("signed_in", False)), "stale": scope.get("stale")}


def page_for(request: Request, name: str, status: int = 200, **context: object) -> Response:
    """Return a page for whoever asks."""
    return page(name, status, **of_request(request), **context)


def page(name: str, status: int = 200, **context: object) -> Response:
    """Return a page."""
    body = TEMPLATES.get_template(name).render(context)
    return Response(body, status_code=status, media_type=HTML, headers=dict(HEADERS))


def page_in_parts(request: Request, name: str, **context: object) -> Response:
    """Return a page for whoever asks; what stands before each mark `REST` is sent before the rest.

    So a browser has the style before there is much to draw, and paints while a long list is
    written. What goes wrong after the first mark is said where the rest would stand: then it is too
    late for a page of its own.
    """
    pieces = TEMPLATES.get_template(name).generate(context, **of_request(request))
    return StreamingResponse(_parts(pieces), media_type=HTML, headers=dict(HEADERS))


def _parts(pieces: Iterable[str]) -> Iterator[str]:
    waiting, is_begun = list[str](), False
    try:
        for piece in pieces:
            waiting.append(piece)
            if REST in piece:
                yield "".join(waiting)
                waiting, is_begun = [], True
    except Exception as error:
        if not is_begun:
            raise
        log.warning("page_broke_off", error=repr(error))
        why = str(error) if isinstance(error, JobledgerError) else "The program's log says why."
        waiting.append(TEMPLATES.get_template("broken_off.html").render(why=why))
    yield "".join(waiting)


def problem_page(status: int, title: str, detail: str, **context: object) -> Response:
    """Return why there is no page."""
    given = {"signed_in": False, "here": "", **context}
    return page("problem.html", status, title=title, detail=detail, code=status, **given)
