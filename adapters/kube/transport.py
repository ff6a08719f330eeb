"""Sends one request and reads its answer, within a time limit and without retries.

The official client keeps the connections, the TLS and the credentials; this adds what it lacks: a
timeout on every request, answers as bytes, and one way of failing. Nothing is sent twice here.
Requests go straight to its pool of connections: what it does around them costs as much CPU as
sending and reading them.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit

import msgspec
import urllib3
from kubernetes.client import ApiClient
from kubernetes.config import ConfigException
from urllib3.connection import HTTPConnection

from jobledger.adapters.http_client.exchange import Reader, exchange, head_of, open_within
from jobledger.adapters.kube.answering import Answering
from jobledger.adapters.kube.credentials import Credentials, LastingCredentials
from jobledger.adapters.kube.errors import answer_error, transport_error
from jobledger.core.errors import ClusterError, ClusterUnreachable, RequestForbidden
from jobledger.core.values.documents import Json, Manifest

CONNECT_TIMEOUT_SECONDS = 5.0
READ_TIMEOUT_SECONDS = 40.0
"""Between two packets of an answer. A write ends within 34 seconds: an admission webhook may be
waited for for 30, and then the API server says which has not answered, or goes on without it.
Source: Kubernetes 1.36, apiserver/pkg/endpoints/handlers, requestTimeoutUpperBound.
"""

MAX_ANSWER_BYTES = 256 * 1024 * 1024
"""A page of 500 objects of 0.5 MB each; more is a mistake, not a list."""

JSON_TYPE = "application/json"
MERGE_PATCH_TYPE = "application/merge-patch+json"
APPLY_TYPE = "application/apply-patch+yaml"

CREDENTIALS_SECONDS = 1.0
"""So long credentials are used before they are asked for again: they may have been renewed."""

_READ_AT_ONCE = 1024 * 1024
_DELETE_CHARACTER = b"\x7f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to the API server."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    body: Manifest | None = None
    content_type: str = JSON_TYPE
    accept: str = JSON_TYPE
    about: str = ""
    """What is asked for, as errors name it."""

    @property
    def what(self) -> str:
        """Return the request in a few words, for errors."""
        return f"{self.method} {self.about or self.path}"


class Transport:
    """Sends requests through the official client. Safe for many threads."""

    def __init__(
        self,
        api: ApiClient,
        *,
        connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
        read_timeout_seconds: float = READ_TIMEOUT_SECONDS,
        credentials_seconds: float = CREDENTIALS_SECONDS,
        credentials: Credentials | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._source = credentials or LastingCredentials()
        self._credentials_seconds = credentials_seconds
        self._credentials = threading.Lock()
        self._headers: dict[str, str] = {}
        self._headers_until = 0.0
        """Monotonic instant until which they may be used."""
        self._host = urlsplit(api.configuration.host).netloc.rpartition("@")[2]
        self._head: bytes = b""
        self._head_of: Mapping[str, str] = {}
        """The headers that every request carries, as they go over the wire."""
        self._found_way: tuple[urllib3.PoolManager | urllib3.HTTPConnectionPool, str] | None = None
        self._connect_timeout = connect_timeout_seconds
        self._read_timeout = read_timeout_seconds
        self._begin = open_within(connect_timeout_seconds, read_timeout_seconds)
        self.answering = Answering(monotonic)

    def send(self, request: Request, *, max_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        """Return the body of the 2xx answer; raise a `ClusterError` for every other end.

        Of an answer longer than `max_bytes` only the beginning is returned.
        """
        way, prefix = self._way()
        if isinstance(way, urllib3.HTTPConnectionPool):
            return self._exchanged(way, prefix, request, max_bytes)
        response = self.open(request)
        try:
            return read_body(response, request.what, max_bytes)
        finally:
            finish(response)

    def _exchanged(
        self, pool: urllib3.HTTPConnectionPool, prefix: str, request: Request, max_bytes: int
    ) -> bytes:
        """Return the body of the 2xx answer of a server that is reached directly."""
        try:
            answer = Reader(max_bytes)
            exchange(pool, self._bytes_of(request, prefix), self._begin, answer)
            body = answer.body()
        except (ConfigException, urllib3.exceptions.HTTPError, OSError, ValueError) as failure:
            raise self._missed(request, failure) from failure
        if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            self.answering.came()
            return body
        raise self._refusal(request, answer.status, answer.headers, body[:_READ_AT_ONCE])

    def _refusal(
        self, request: Request, status: int, headers: Mapping[str, str], body: bytes
    ) -> ClusterError:
        """Return the error that an answer other than 2xx stands for.

        Credentials that were refused are asked for again.
        """
        is_unknown = status == HTTPStatus.UNAUTHORIZED
        what = self._whereto(request) if is_unknown else request.what
        refusal = answer_error(what, status, headers, body, request.path)
        if is_unknown and not isinstance(refusal, RequestForbidden):
            with self._credentials:
                self._source.refused()
                self._headers_until = 0.0
            self.answering.missed(refusal)
        else:
            self.answering.came()
        return refusal

    def _missed(self, request: Request, failure: Exception) -> ClusterError:
        """Return the error that the want of an answer stands for."""
        error = transport_error(self._whereto(request), failure)
        self.answering.missed(error)
        return error

    def _bytes_of(self, request: Request, prefix: str) -> bytes:
        """Return a request as it goes over the wire."""
        common = self._common_headers()
        if self._head_of is not common:
            self._head, self._head_of = head_of(common), common
        body = b"" if request.body is None else encode(request.body)
        head = (
            f"{request.method} {prefix}{target_of(request)} HTTP/1.1\r\nHost: {self._host}\r\n"
            f"Accept-Encoding: identity\r\nAccept: {request.accept}\r\n"
            f"Content-Type: {request.content_type}\r\nContent-Length: {len(body)}\r\n"
        )
        return b"".join((head.encode("ascii"), self._head, b"\r\n", body))

    def open(
        self, request: Request, *, read_timeout_seconds: float | None = None
    ) -> urllib3.BaseHTTPResponse:
        """Return a 2xx answer whose body is still to be read, and then to be `finish`ed."""
        timeout = (self._connect_timeout, read_timeout_seconds or self._read_timeout)
        try:
            response = self._call(request, timeout)
        except (ConfigException, urllib3.exceptions.HTTPError, OSError) as failure:
            raise self._missed(request, failure) from failure
        if HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            self.answering.came()
            return response
        if response.status == HTTPStatus.UNAUTHORIZED:
            _use_no_more(response)  # as `Reader.may_stay`: the next begins with what counts by then
        try:
            body = read_body(response, request.what, _READ_AT_ONCE)
        except ClusterUnreachable:
            body = b""  # the status line alone says enough
        finally:
            finish(response)
        raise self._refusal(request, response.status, response.headers, body)

    def _whereto(self, request: Request) -> str:
        """Return the request and the server it is for, without a user that its URL may name."""
        host = urlsplit(self._api.configuration.host)
        return f"{request.what} at {host.scheme}://{host.netloc.rpartition('@')[2]}"

    def _call(self, request: Request, timeout: tuple[float, float]) -> urllib3.BaseHTTPResponse:
        headers = {
            **self._common_headers(),
            "Accept": request.accept,
            "Content-Type": request.content_type,
        }
        opener, prefix = self._way()
        answer = opener.urlopen(
            request.method,
            f"{prefix}{target_of(request)}",
            body=None if request.body is None else encode(request.body),
            headers=headers,
            timeout=urllib3.Timeout(connect=timeout[0], read=timeout[1]),
            retries=False,
            redirect=False,
            preload_content=False,
        )
        assert isinstance(answer, urllib3.BaseHTTPResponse), "it is not asked for anything else"
        return answer

    def _way(self) -> tuple[urllib3.PoolManager | urllib3.HTTPConnectionPool, str]:
        """Return who opens a connection, and what stands before each path.

        Without a proxy that is the pool of the one server; else the client's own choice of pools.
        """
        if self._found_way is None:
            manager, host = self._api.rest_client.pool_manager, self._api.configuration.host
            if type(manager) is urllib3.PoolManager:
                self._found_way = manager.connection_from_url(host), urlsplit(host).path.rstrip("/")
            else:
                self._found_way = manager, host
        return self._found_way

    def _common_headers(self) -> Mapping[str, str]:
        """Return what every request carries: who we are, in both senses."""
        if time.monotonic() < self._headers_until:
            return self._headers
        # Asking for the headers may renew the credentials (a token file, a plug-in): one at a time.
        with self._credentials:
            asked = time.monotonic()
            if asked >= self._headers_until:
                self._source.renew(self._api.configuration)
                _, _, headers, _, _ = self._api.param_serialize(
                    "GET", "/", header_params={}, auth_settings=["BearerToken"]
                )
                self._headers, self._headers_until = headers, asked + self._credentials_seconds
            return self._headers


def target_of(request: Request) -> str:
    """Return path and query of a request; raise `ValueError` for what is neither."""
    query = _query(tuple(request.query)) if request.query else ""
    target = f"{request.path}{query}"
    if " " in target or not target.isprintable():
        raise ValueError(f"{request.what} has a blank or control character in its address")
    return target


@lru_cache(maxsize=64)
def _query(named: tuple[tuple[str, str], ...]) -> str:
    """Return a query; most requests have one of a few."""
    return f"?{urlencode(named)}"


def encode(document: Json) -> bytes:
    """Return a document as JSON in ASCII: read as YAML, some other characters are line breaks."""
    try:
        encoded = msgspec.json.encode(document, enc_hook=_plain)
    except (UnicodeError, OverflowError):
        encoded = b"\xff"  # what msgspec cannot write: half a character, a huge number
    if encoded.isascii() and _DELETE_CHARACTER not in encoded:
        return encoded
    return json.dumps(_plain(document)).encode()


def read_body(response: urllib3.BaseHTTPResponse, what: str, max_bytes: int) -> bytes:
    """Return the body, or its first `max_bytes`; raise `ClusterUnreachable` if it breaks off.

    The length of a compressed answer says nothing of what it becomes: a megabyte of gzip can be a
    gigabyte of text. It is unpacked piece by piece, as far as the limit.
    """
    parts: list[bytes] = []
    missing = max_bytes
    try:
        length = response.length_remaining
        packed = "content-encoding" in response.headers
        if length is not None and length <= max_bytes and not packed:
            return response.read()
        while missing > 0 and (part := response.read(min(missing, _READ_AT_ONCE))):
            parts.append(part)
            missing -= len(part)
    except (urllib3.exceptions.HTTPError, OSError) as failure:
        raise transport_error(what, failure) from failure
    return parts[0] if len(parts) == 1 else b"".join(parts)


def finish(response: urllib3.BaseHTTPResponse) -> None:
    """Let go of an answer: a connection with something left to read is closed, never reused."""
    response.close()


def _use_no_more(response: urllib3.BaseHTTPResponse) -> None:
    """Close the connection of an answer that is still to be read: so the pool gets it closed.

    It gets it with the last byte, and another thread may be at it then. The answer keeps the socket
    open until it is read.
    """
    connection = response.connection
    if isinstance(connection, HTTPConnection) and connection.sock is not None:
        connection.sock.close()
        connection.sock = None


def _plain(document: Json) -> Json:
    """Return the document in the types that JSON encoders know."""
    if isinstance(document, Mapping):
        return {key: _plain(value) for key, value in document.items()}
    if isinstance(document, Sequence) and not isinstance(document, str):
        return [_plain(value) for value in document]
    return document
