"""How one request is sent and its answer read: once, within a time, or an error of ours.

The official client keeps the connections, the TLS and the credentials; this adds what it lacks: a
timeout on every request, answers as bytes, and one way of failing. Nothing is sent twice here.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

import urllib3
from kubernetes.client import ApiClient
from kubernetes.client.exceptions import ApiException
from kubernetes.config import ConfigException

from adapters.kube.errors import answer_error, transport_error
from core.errors import ClusterUnreachable
from core.values.documents import Json, Manifest

CONNECT_TIMEOUT_SECONDS = 5.0
READ_TIMEOUT_SECONDS = 30.0
"""Between two packets of an answer; the API server itself gives up after 60 seconds."""

MAX_ANSWER_BYTES = 256 * 1024 * 1024
"""A page of 500 objects of 0.5 MB each; more is a mistake, not a list."""

JSON_TYPE = "application/json"
MERGE_PATCH_TYPE = "application/merge-patch+json"
APPLY_TYPE = "application/apply-patch+yaml"

_READ_AT_ONCE = 1024 * 1024


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
    ) -> None:
        self._api = api
        self._credentials = threading.Lock()
        self._connect_timeout = connect_timeout_seconds
        self._read_timeout = read_timeout_seconds

    def send(self, request: Request, *, max_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        """Return the body of the 2xx answer; raise a `ClusterError` for every other end.

        Of an answer longer than `max_bytes` only the beginning is returned.
        """
        response = self.open(request)
        try:
            return read_body(response, request.what, max_bytes)
        finally:
            finish(response)

    def open(
        self, request: Request, *, read_timeout_seconds: float | None = None
    ) -> urllib3.BaseHTTPResponse:
        """Return a 2xx answer whose body is still to be read, and then to be `finish`ed."""
        timeout = (self._connect_timeout, read_timeout_seconds or self._read_timeout)
        try:
            response = self._call(request, timeout)
        except ApiException as failure:
            # The client raises this in place of an SSLError, whose text is all it has.
            raise transport_error(
                self._whereto(request), failure.__context__ or failure
            ) from failure
        except (ConfigException, urllib3.exceptions.HTTPError, OSError) as failure:
            raise transport_error(self._whereto(request), failure) from failure
        if HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            return response
        try:
            body = read_body(response, request.what, _READ_AT_ONCE)
        except ClusterUnreachable:
            body = b""  # the status line alone says enough
        finally:
            finish(response)
        raise answer_error(request.what, response.status, response.headers, body)

    def _whereto(self, request: Request) -> str:
        """Return the request and the server it is for, without a user that its URL may name."""
        host = urlsplit(self._api.configuration.host)
        return f"{request.what} at {host.scheme}://{host.netloc.rpartition('@')[2]}"

    def _call(self, request: Request, timeout: tuple[float, float]) -> urllib3.BaseHTTPResponse:
        # Asking for the headers may renew the credentials (a token file, a plug-in): one at a time.
        with self._credentials:
            method, url, headers, _, _ = self._api.param_serialize(
                request.method,
                request.path,
                query_params=list(request.query),
                header_params={"Accept": request.accept, "Content-Type": request.content_type},
                auth_settings=["BearerToken"],
            )
        # The body goes around the client's own conversion, which copies every document twice.
        body = None if request.body is None else _plain(request.body)
        answer = self._api.call_api(method, url, headers, body, _request_timeout=timeout)
        response: urllib3.BaseHTTPResponse = answer.response
        return response


def read_body(response: urllib3.BaseHTTPResponse, what: str, max_bytes: int) -> bytes:
    """Return the body, or its first `max_bytes`; raise `ClusterUnreachable` if it breaks off."""
    parts: list[bytes] = []
    missing = max_bytes
    try:
        while missing > 0 and (part := response.read(min(missing, _READ_AT_ONCE))):
            parts.append(part)
            missing -= len(part)
    except (urllib3.exceptions.HTTPError, OSError) as failure:
        raise transport_error(what, failure) from failure
    return parts[0] if len(parts) == 1 else b"".join(parts)


def finish(response: urllib3.BaseHTTPResponse) -> None:
    """Let go of an answer: a connection with something left to read is closed, never reused."""
    response.close()


def _plain(document: Json) -> Json:
    """Return the document in the types that the client's JSON encoder knows."""
    if isinstance(document, Mapping):
        return {key: _plain(value) for key, value in document.items()}
    if isinstance(document, Sequence) and not isinstance(document, str):
        return [_plain(value) for value in document]
    return document
