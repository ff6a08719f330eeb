"""HTTP/1.1 over plain sockets: just what the `ray` command needs, on both sides.

One request per connection. The standard library's modules would cost each start of the command
30 ms of CPU.
"""

from __future__ import annotations

import os
import socket

MAX_HEAD_BYTES = 64 * 1024
"""A longer request or response head is refused."""

MAX_BODY_BYTES = 64 * 1024 * 1024
"""A longer body is refused."""

REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 500: "Internal Server Error"}
TOO_LONG = "the other side sent more than the sandbox's ray command reads"


class Request:
    """One HTTP request as the head reads it."""

    __slots__ = ("body", "method", "path")

    def __init__(self, method: str, path: str, body: bytes) -> None:
        self.method, self.path, self.body = method, path, body


class Stream:
    """The answer to one request: its status, and a body that is read piece by piece."""

    __slots__ = ("_connection", "_left", "_pending", "status")

    def __init__(
        self, status: int, connection: socket.socket, pending: bytes, length: int | None
    ) -> None:
        self.status = status
        self._connection, self._pending, self._left = connection, pending, length

    def read(self) -> bytes:
        """Return the next piece; empty at the end."""
        if self._left is not None and self._left <= 0:
            self._connection.close()
            return b""
        piece, self._pending = self._pending or self._connection.recv(65536), b""
        if self._left is not None:
            if not piece:
                raise ConnectionError("the connection ended before the answer was complete")
            self._left -= len(piece)
        if not piece:
            self._connection.close()
        return piece

    def read_all(self) -> bytes:
        """Return the whole body."""
        pieces, size = [], 0
        while piece := self.read():
            size += len(piece)
            if size > MAX_BODY_BYTES:
                raise ConnectionError(TOO_LONG)
            pieces.append(piece)
        return b"".join(pieces)


def read_head(connection: socket.socket) -> tuple[str, dict[str, str], bytes]:
    """Return the first line, the headers (names in lower case) and what was read beyond them.

    The first line is empty if the other side closed without a word.
    """
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return "", {}, b""
        data += piece
        if len(data) > MAX_HEAD_BYTES:
            raise ConnectionError(TOO_LONG)
    head, _, rest = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return first, headers, rest


def read_request(connection: socket.socket) -> Request | None:
    """Return the request that arrives on `connection`, or None if none does."""
    first, headers, body = read_head(connection)
    words = first.split(" ")
    if len(words) < 2:  # noqa: PLR2004  # method and path
        return None
    length = int(headers.get("content-length") or 0)
    if length > MAX_BODY_BYTES:
        raise ConnectionError(TOO_LONG)
    while len(body) < length:
        piece = connection.recv(65536)
        if not piece:
            return None
        body += piece
    return Request(words[0], words[1], body)


def send_head(
    connection: socket.socket, status: int, content_type: str, length: int | None
) -> None:
    """Begin an answer; without a length the body ends when the connection does."""
    lines = [f"HTTP/1.1 {status} {REASONS[status]}", f"Content-Type: {content_type}"]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    lines.append("Connection: close")
    connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


def open_request(
    method: str, url: str, body: bytes = b"", timeout_seconds: float | None = 30.0
) -> Stream:
    """Send a request, through the proxy that the environment names, and return the answer.

    Raises:
        OSError: nobody answers, or the answer is no HTTP.
    """
    host, port, path = split_url(url)
    proxy = proxy_for(host)
    if proxy:
        proxy_host, proxy_port, _ = split_url(proxy)
        connection = socket.create_connection((proxy_host, proxy_port), timeout_seconds)
        path = f"http://{host}:{port}{path}"
    else:
        connection = socket.create_connection((host, port), timeout_seconds)
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: */*\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    connection.sendall(head.encode("latin-1") + body)
    first, headers, rest = read_head(connection)
    words = first.split(" ")
    if len(words) < 2 or not words[1].isdigit():  # noqa: PLR2004  # version and status
        connection.close()
        raise ConnectionError(f"{url} answered no HTTP")
    length = headers.get("content-length")
    return Stream(int(words[1]), connection, rest, int(length) if length is not None else None)


def split_url(url: str) -> tuple[str, int, str]:
    """Return host, port and path of an `http` URL; a scheme may be left out."""
    rest = url.partition("://")[2] or url
    address, slash, path = rest.partition("/")
    address = address.rpartition("@")[2]
    host, _, port = address.partition(":")
    return host, int(port or 80), slash + path or "/"


def proxy_for(host: str) -> str:
    """Return the proxy that the standard variables name for `host`, or an empty string."""
    proxy = os.environ.get("http_proxy") or os.environ.get("HTTP_PROXY") or ""
    exempt = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if not proxy or exempt.strip() == "*":
        return ""
    for entry in exempt.split(","):
        name = entry.strip().lstrip(".")
        if not name:
            continue
        if host == name or host.endswith("." + name):
            return ""
        if name == "127.0.0.0/8" and host.startswith("127."):
            return ""
    return proxy
