"""Decides who may read the API: anybody on loopback, otherwise holders of an accepted token.

On loopback without a token a request must also be addressed to loopback: a web page in somebody's
browser cannot make it answer under another name (DNS rebinding).
"""

import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Protocol
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from jobledger.adapters.http.api.application import PREFIX, problem
from jobledger.adapters.serving.bearer import bearer_token

RETRY_SECONDS = 5
"""After so long a token that nobody knows may be tried again."""


class TooManyTokens(Exception):  # named as a sentence, like the core's
    """So many unknown tokens came that Kubernetes is not asked about another one now."""


class Reviewer(Protocol):
    """Judges tokens. Safe to call from many threads."""

    def may_read(self, token: str, address: str = "") -> bool | None:
        """Return whether the bearer may read; None if the token is not valid at all.

        Raises:
            TooManyTokens: that address, or everybody, has sent too many unknown ones.
        """


class KnownToken:
    """One token that is known beforehand."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def may_read(self, token: str, address: str = "") -> bool | None:
        """See `Reviewer.may_read`."""
        del address
        return True if hmac.compare_digest(token.encode(), self._token) else None


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on, or a host that is asked for, is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI middleware in front of the API; other paths pass."""

    def __init__(self, app: ASGIApp, reviewer: Reviewer | None) -> None:
        self._app = app
        self._reviewer = reviewer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        refusal = await self._refusal(Headers(scope=scope), client[0] if client else "")
        answer: Callable[[Scope, Receive, Send], Awaitable[None]] = refusal or self._app
        await answer(scope, receive, send)

    async def _refusal(self, headers: Headers, address: str) -> Response | None:
        if self._reviewer is None:
            host = host_of(headers.get("host", ""))
            if host is not None and is_loopback(host):
                return None
            return problem(403, "forbidden", "ask for 127.0.0.1 or localhost, by that name")
        token = bearer_token(headers.get("authorization", ""))
        if not token:
            return _unauthorized("send a bearer token")
        try:
            allowed = await run_in_threadpool(self._reviewer.may_read, token, address)
        except TooManyTokens:
            answer = problem(429, "busy", "too many unknown tokens were sent; try again later")
            answer.headers["Retry-After"] = str(RETRY_SECONDS)
            return answer
        if allowed is None:
            return _unauthorized("this token is not valid")
        return None if allowed else problem(403, "forbidden", "you may not read jobs and logs")


def host_of(header: str) -> str | None:
    """Return the name in a Host header, without its port; None if it makes no sense."""
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


def _unauthorized(detail: str) -> Response:
    answer = problem(401, "unauthorized", detail)
    answer.headers["WWW-Authenticate"] = "Bearer"
    return answer
