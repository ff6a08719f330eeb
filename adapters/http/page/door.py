"""Who may see the pages: as with the API, and by a cookie that holds the token.

The cookie is HttpOnly, SameSite=Strict and of this path alone: no script reads it, no other site
sends it, and the API never gets it. A form is taken only from a page of this same origin.
"""

import base64
import binascii
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from jobledger.adapters.http.api.guard import (
    RETRY_SECONDS,
    Reviewer,
    TooManyTokens,
    host_of,
    is_loopback,
)
from jobledger.adapters.http.page.rendering import HEADERS, PREFIX, page, problem_page
from jobledger.adapters.serving.bearer import bearer_token

COOKIE = "jobledger_token"
COOKIE_SECONDS = 12 * 3600
"""So long a browser keeps the token; Kubernetes judges it at each request all the same."""
TOKEN_MAX = 2_900
"""Characters of a token that fits into a cookie: browsers keep 4,096 bytes."""
FORM_BYTES_MAX = 16_384
LOGIN, LOGOUT, STATIC = f"{PREFIX}/login", f"{PREFIX}/logout", f"{PREFIX}/static/"


class Door:
    """ASGI middleware in front of the pages; other paths pass."""

    def __init__(self, app: ASGIApp, reviewer: Reviewer | None) -> None:
        self._app = app
        self._reviewer = reviewer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        path = scope.get("path", "")
        if scope["type"] != "http" or (path != PREFIX and not path.startswith(f"{PREFIX}/")):
            await self._app(scope, receive, send)
            return
        scope["signed_in"] = False
        refusal = await self._refusal(Request(scope, receive))
        answer: ASGIApp = refusal or self._app
        await answer(scope, receive, send)

    async def _refusal(self, request: Request) -> Response | None:
        if self._reviewer is None:
            host = host_of(request.headers.get("host", ""))
            if host is not None and is_loopback(host):
                return None
            return problem_page(403, "Not by this name", "Ask for 127.0.0.1 or localhost.")
        path = request.url.path
        if path == LOGIN:
            return await self._login(request, self._reviewer)
        if path == LOGOUT:
            return _logout(request)
        if path.startswith(STATIC):
            return None
        cookie = token_of(request.headers.get("cookie", ""))
        token = bearer_token(request.headers.get("authorization", "")) or cookie
        request.scope["signed_in"] = bool(cookie)
        return await self._judged(request, self._reviewer, token) if token else _ask(request)

    async def _judged(self, request: Request, reviewer: Reviewer, token: str) -> Response | None:
        try:
            allowed = await run_in_threadpool(reviewer.may_read, token, _address(request))
        except TooManyTokens:
            return _busy()
        if allowed is None:
            return _ask(request)
        return None if allowed else _forbidden()

    async def _login(self, request: Request, reviewer: Reviewer) -> Response:
        aim = local(request.query_params.get("next", ""))
        if request.method != "POST":
            return page("login.html", aim=aim, wrong="")
        if not is_own(request.headers):
            return _stranger()
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > FORM_BYTES_MAX:
                return problem_page(413, "Too long", "No token is as long as that.")
        form = parse_qs(body.decode(errors="replace"))
        aim, token = local(form.get("next", [""])[0]), form.get("token", [""])[0].strip()
        if not _may_be_token(token):
            return page("login.html", 401, aim=aim, wrong="This is no token.")
        try:
            allowed = await run_in_threadpool(reviewer.may_read, token, _address(request))
        except TooManyTokens:
            return _busy()
        if allowed is None:
            return page("login.html", 401, aim=aim, wrong="This token is not valid.")
        if not allowed:
            return _forbidden()
        answer = RedirectResponse(aim, status_code=303, headers=dict(HEADERS))
        _set_cookie(answer, request, token)
        return answer


def _may_be_token(text: str) -> bool:
    return 0 < len(text) <= TOKEN_MAX and text.isascii() and text.isprintable() and " " not in text


def token_of(header: str) -> str:
    """Return the token in a Cookie header; empty if there is none."""
    try:
        found = SimpleCookie(header).get(COOKIE)
        token = base64.urlsafe_b64decode(found.value if found else "").decode("ascii")
    except (CookieError, binascii.Error, ValueError):
        return ""
    return token if _may_be_token(token) else ""


def local(aim: str) -> str:
    """Return where to go after the login: one of our pages, never another site."""
    is_ours = aim.startswith(f"{PREFIX}/") and aim.isprintable() and "\\" not in aim
    inside = is_ours and "/.." not in aim and not aim.startswith((LOGIN, LOGOUT))
    return aim if inside else f"{PREFIX}/jobs"


def is_own(headers: Headers) -> bool:
    """Return whether a form was sent by a page of this origin, as the browser says."""
    origin = headers.get("origin")
    if origin is not None:
        try:
            return urlsplit(origin).netloc == headers.get("host", "") != ""
        except ValueError:  # no URL at all
            return False
    return headers.get("sec-fetch-site") == "same-origin"


def _set_cookie(answer: Response, request: Request, token: str) -> None:
    """Give the browser a token to keep, or an empty one to forget it."""
    forwarded = request.headers.get("x-forwarded-proto", "")
    answer.set_cookie(
        COOKIE,
        base64.urlsafe_b64encode(token.encode()).decode(),
        max_age=COOKIE_SECONDS if token else 0,
        path=PREFIX,
        secure=request.url.scheme == "https" or forwarded == "https",
        httponly=True,
        samesite="strict",
    )


def _logout(request: Request) -> Response:
    if request.method != "POST" or not is_own(request.headers):
        return _stranger()
    answer = RedirectResponse(LOGIN, status_code=303, headers=dict(HEADERS))
    _set_cookie(answer, request, "")
    return answer


def _ask(request: Request) -> Response:
    """Ask for a token; who comes by a link of another site first comes again, with the cookie."""
    query = f"?{request.url.query}" if request.url.query else ""
    aim = local(request.url.path + query)
    fetched = request.headers.get("sec-fetch-mode", "navigate") != "navigate"
    if request.method not in ("GET", "HEAD") or fetched:
        return problem_page(401, "Signed out", "Send a token, or sign in.")
    if request.headers.get("sec-fetch-site") == "cross-site":
        return page("login.html", aim=aim, wrong="", again=True)
    where = f"{LOGIN}?next={quote(aim, safe='')}"
    return RedirectResponse(where, status_code=303, headers=dict(HEADERS))


def _stranger() -> Response:
    return problem_page(403, "Not from here", "This form was not sent by a page of this site.")


def _forbidden() -> Response:
    detail = "Whoever has this token may not read jobs of every kind and the logs of Pods."
    return problem_page(403, "Not allowed", detail)


def _busy() -> Response:
    answer = problem_page(429, "Busy", "Too many unknown tokens were sent. Try again later.")
    answer.headers["Retry-After"] = str(RETRY_SECONDS)
    return answer


def _address(request: Request) -> str:
    return request.client.host if request.client is not None else ""
