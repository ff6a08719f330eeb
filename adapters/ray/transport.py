"""Sends one request to a Ray head and reads the answer, within its limits.

No retries (they are the caller's decision), no redirects (a head sends none), no compression.
"""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from urllib3 import HTTPConnectionPool, PoolManager, ProxyManager
from urllib3.connection import HTTPConnection
from urllib3.exceptions import HTTPError, NameResolutionError, NewConnectionError
from urllib3.exceptions import TimeoutError as Urllib3Timeout

from jobledger.adapters.http_client.exchange import Reader, exchange, head_of
from jobledger.adapters.ray.deadline import DeadlineConnection, direct_pools, proxy_pool
from jobledger.adapters.ray.errors import STRUCK_OUT
from jobledger.adapters.ray.proxies import proxy_credentials, proxy_for
from jobledger.core.errors import RayApiUnreachable

POOLS = 256
"""Heads to which connections are kept."""

CONNECTIONS = 4
"""Connections kept per head; more are opened if need be and closed after use."""

PROXY_CONNECTIONS = 32
"""Connections kept to a proxy, through which all heads are reached."""

EXPLANATION_CHARACTERS = 300
"""As much of a library's error as a message holds."""

ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")

TOKEN = re.compile(r"[\x21-\x7e]+")
"""What a header can carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request may cost."""

    seconds: float
    """From the first packet to the last byte of the answer."""
    answer_bytes: int
    """A longer answer is an error."""
    kept_bytes: int
    """Of a longer answer only the end is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of a head."""

    address: str
    method: str
    path: str
    token: str = ""
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a head answered."""

    status: int
    body: bytes
    beginning_lost: bool
    """Whether `body` is only the end of what was sent."""

    @property
    def success(self) -> bool:
        """Whether the status says that it worked."""
        return 200 <= self.status < 300  # noqa: PLR2004 -- as HTTP groups them


class Transport:
    """Bounded keep-alive connections to many heads. Safe for many threads."""

    def __init__(self, proxies: Mapping[str, str]) -> None:
        self._proxies = proxies
        self._direct = direct_pools(POOLS, CONNECTIONS)
        self._through: dict[str, PoolManager] = {}
        self._one_at_a_time = threading.Lock()

    def send(self, request: Request, limits: Limits) -> Answer:
        """Return the answer, whatever its status.

        Raises:
            RayApiUnreachable: none came in time, it broke off, or it is too long.
        """
        _check_address(request.address)
        try:
            manager = self._manager(request.address)
            host, _, port = request.address.rpartition(":")
            pool = manager.connection_from_host(host, int(port), "http")
            assert isinstance(pool, HTTPConnectionPool), "heads speak plain HTTP"
            reader = Reader(
                limits.answer_bytes + 1, kept_bytes=limits.kept_bytes, takes_cut_refusals=False
            )
            through = manager.proxy_headers if isinstance(manager, ProxyManager) else None
            exchange(pool, _bytes_of(request, through), _begin_within(limits.seconds), reader)
            return _answer(request.address, reader, limits)
        except (HTTPError, OSError, ValueError) as error:
            raise RayApiUnreachable(
                f"the Ray head at {request.address} {_explanation(error, request, limits)}"
            ) from error

    def close(self) -> None:
        """Close all connections."""
        with self._one_at_a_time:
            for manager in (self._direct, *self._through.values()):
                manager.clear()

    def _manager(self, address: str) -> PoolManager:
        """Return the pools for this address: direct, or those of its proxy."""
        proxy = proxy_for(address, self._proxies)
        if proxy is None:
            return self._direct
        if not proxy.lower().startswith("http://"):
            raise RayApiUnreachable(
                f"the proxy for the Ray head at {address} must be an http:// address; correct "
                "HTTP_PROXY, or name the head in NO_PROXY"
            )
        with self._one_at_a_time:
            if proxy not in self._through:
                headers = proxy_credentials(proxy)
                self._through[proxy] = proxy_pool(proxy, headers, PROXY_CONNECTIONS)
            return self._through[proxy]


def _check_address(address: str) -> None:
    """Raise unless this is `host:port`."""
    found = ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 1 << 16:
        raise RayApiUnreachable(
            f"{address[:EXPLANATION_CHARACTERS]!r} is no address of a Ray head; it must be "
            "host:port without a scheme, as in status.dashboardURL"
        )


def _headers(request: Request) -> dict[str, str]:
    """Return the headers of a request; the token's name is Ray's own."""
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if request.method == "POST":
        headers["Content-Type"] = "application/json"
    token = request.token.strip()  # a Secret often ends in a line feed
    if token:
        if TOKEN.fullmatch(token) is None:
            raise RayApiUnreachable(
                f"the token for the Ray head at {request.address} holds characters that no header "
                "can carry; correct the Secret"
            )
        headers["x-ray-authorization"] = f"Bearer {token}"
    return headers


def _begin_within(seconds: float) -> Callable[[HTTPConnection], None]:
    """Return what begins a call that ends within so many seconds."""

    def begin(connection: HTTPConnection) -> None:
        assert isinstance(connection, DeadlineConnection), "the pools are made of those"
        connection.begin(seconds)

    return begin


def _bytes_of(request: Request, proxy_headers: Mapping[str, str] | None) -> bytes:
    """Return a request as it goes over the wire; to a proxy it names the head, in the whole."""
    body = request.body or b""
    target = request.path if proxy_headers is None else f"http://{request.address}{request.path}"
    headers = {"Host": request.address, **_headers(request), **(proxy_headers or {})}
    if body or request.method != "GET":
        headers["Content-Length"] = str(len(body))
    line = f"{request.method} {target} HTTP/1.1\r\n".encode("ascii")
    return line + head_of(headers) + b"\r\n" + body


def _answer(address: str, reader: Reader, limits: Limits) -> Answer:
    """Return what was read, with the end of its body."""
    if reader.size > limits.answer_bytes:
        raise RayApiUnreachable(
            f"the Ray head at {address} answered more than {limits.answer_bytes} bytes"
        )
    kept = reader.raw()[-limits.kept_bytes :]
    return Answer(reader.status, kept, beginning_lost=reader.size > limits.kept_bytes)


def _explanation(error: Exception, request: Request, limits: Limits) -> str:
    """Say in our words what went wrong, without the token."""
    if isinstance(error, NameResolutionError):
        return "has a name that cannot be resolved"
    # To urllib3 a refused connection is a kind of time-out.
    timed_out = isinstance(error, (Urllib3Timeout, TimeoutError))
    if timed_out and not isinstance(error, NewConnectionError):
        return f"did not answer in full within {limits.seconds:g} s"
    said = " ".join(str(error).split())
    token = request.token.strip()
    if token:
        said = said.replace(token, STRUCK_OUT)
    return f"gave no usable answer: {said[:EXPLANATION_CHARACTERS]}"
