"""Sends one request over a kept connection and reads its whole answer, for little CPU.

urllib3 makes the connections, checks them and keeps them: TLS, certificates, keep-alive. What it
and `http.client` do around each request takes several times as long as sending and reading it;
here the request is one piece of bytes, and a parser in C (llhttp, by httptools) reads the answer.
"""

import socket
import ssl
import zlib
from collections.abc import Callable, Mapping
from http import HTTPStatus

import httptools
import urllib3
from urllib3.connection import HTTPConnection
from urllib3.exceptions import ProtocolError, ReadTimeoutError, SSLError

_READ_AT_ONCE = 256 * 1024

AROUND_BYTES_MAX = 2 * _READ_AT_ONCE
"""Of headers, or of anything else after which no more of the body has come."""

_ENDS_OF_A_LINE = frozenset("\r\n")


def head_of(headers: Mapping[str, str]) -> bytes:
    """Return headers as they go over the wire; raise `ValueError` for one that is none."""
    for name, value in headers.items():
        if not _ENDS_OF_A_LINE.isdisjoint(name + value):
            raise ValueError(f"the header {name!r} has an end of a line")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")


def exchange(
    pool: urllib3.HTTPConnectionPool,
    request: bytes,
    begin: Callable[[HTTPConnection], None],
    reader: "Reader",
) -> None:
    """Send `request` and have its answer read. Nothing is sent twice.

    Args:
        pool: Whose connections are used.
        request: Head and body.
        begin: Opens a connection that is closed, and bounds its waits.
        reader: Reads the answer.

    Raises:
        urllib3.exceptions.HTTPError: there was no whole answer.
    """
    # What urllib3 offers publicly takes the request apart again; these two are its pool's door.
    connection = pool._get_conn()  # noqa: SLF001
    assert isinstance(connection, HTTPConnection), "the pool is one of those"
    may_stay = False
    try:
        begin(connection)
        connection.sock.sendall(request)
        reader.read(connection.sock)
        may_stay = reader.may_stay()
    except TimeoutError as failure:
        raise ReadTimeoutError(pool, "", "Read timed out.") from failure
    except ssl.SSLError as failure:
        raise SSLError(failure) from failure
    except (OSError, httptools.HttpParserError) as failure:
        raise ProtocolError("Connection aborted.", failure) from failure
    finally:
        if not may_stay:
            connection.close()
        pool._put_conn(connection)  # noqa: SLF001


def open_within(connect_seconds: float, read_seconds: float) -> Callable[[HTTPConnection], None]:
    """Return what opens a connection in time, and bounds the time between two packets."""

    def begin(connection: HTTPConnection) -> None:
        if connection.is_closed:
            connection.timeout = connect_seconds
            connection.connect()
        connection.sock.settimeout(read_seconds)

    return begin


class Reader:
    """Reads one answer; the parser calls its methods."""

    _parser: httptools.HttpResponseParser
    """While an answer is read. The two refer to each other: kept, they would wait for the garbage
    collector, which looks after many objects, with all that they hold."""

    def __init__(
        self, max_bytes: int, *, kept_bytes: int = 0, takes_cut_refusals: bool = True
    ) -> None:
        """Read a body of `max_bytes` at most, or somewhat more.

        Args:
            max_bytes: As much of the body as is read.
            kept_bytes: If it is not 0: of a longer body only an end of this length is kept.
            takes_cut_refusals: Whether of a refusal that breaks off, or cannot be unpacked, the
                status alone says enough.
        """
        self._max_bytes, self._kept_bytes = max_bytes, kept_bytes
        self._takes_cut_refusals = takes_cut_refusals
        self._parts: list[bytes] = []
        self.size = 0
        """Bytes of the body so far."""
        self._around = 0
        """Bytes since the body last grew."""
        self._dropped = 0
        self._is_begun = self._is_whole = self._is_kept = self._has_more = False
        self.status = 0
        self.headers: dict[str, str] = {}

    def read(self, connected: socket.socket) -> None:
        """Read until the answer is whole, or as long as was asked."""
        self._parser = httptools.HttpResponseParser(self)
        try:
            while not self._is_whole and self.size < self._max_bytes:
                data = connected.recv(_READ_AT_ONCE)
                if not data:
                    self._broke_off()
                    return
                self._take(data)
        except (OSError, ProtocolError, httptools.HttpParserError):
            self._has_more = True
            if not self._is_whole and not self._says_enough():
                raise
        finally:
            del self._parser

    def _says_enough(self) -> bool:
        is_refusal = self.status >= 300  # noqa: PLR2004 neither OK nor an announcement
        return is_refusal and self._takes_cut_refusals

    def _take(self, data: bytes) -> None:
        self._around += len(data)
        self._parser.feed_data(data)
        if self._around > AROUND_BYTES_MAX:
            raise ProtocolError("Too much around the body of the answer")

    def may_stay(self) -> bool:
        """Return whether the connection can be used again: nothing of this answer is left on it.

        Nor one over which nobody knows us (401): the certificate shown as it began may have ended,
        and only a new one shows that which has taken its place.
        """
        is_known = self.status != HTTPStatus.UNAUTHORIZED
        return self._is_whole and not self._has_more and self._is_kept and is_known

    def raw(self) -> bytes:
        """Return the body as it came, as far as it is kept."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def body(self) -> bytes:
        """Return the body, unpacked, as far as was asked; raise `ProtocolError` if it cannot be."""
        found = self.raw()
        packed = self.headers.get("Content-Encoding", "identity").lower()
        if packed == "identity":
            return found[: self._max_bytes]
        try:
            # A megabyte of gzip can be a gigabyte of text: no more is unpacked than was asked for.
            return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(found, self._max_bytes)
        except zlib.error as error:
            if self._says_enough():
                return b""
            raise ProtocolError(f"the answer, packed as {packed!r}, cannot be unpacked") from error

    def _broke_off(self) -> None:
        """Take the end of the connection for that of the answer where nothing else ends it."""
        told = self.headers.keys() & {"Content-Length", "Transfer-Encoding"}
        if not self.status or told:
            raise ProtocolError("Connection broken before the end of the answer")

    def on_message_begin(self) -> None:
        """See httptools: a second message was asked for by nobody."""
        self._has_more = self._is_begun
        self._is_begun = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """See httptools."""
        if not self._is_whole:
            self.headers[name.decode("latin-1").title()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """See httptools."""
        if not self._is_whole:
            self.status = self._parser.get_status_code()

    def on_body(self, part: bytes) -> None:
        """See httptools."""
        if self._is_whole:
            return
        self._parts.append(part)
        self.size += len(part)
        self._around = 0
        if self._kept_bytes and self.size - self._dropped > 2 * self._kept_bytes:
            kept = b"".join(self._parts)[-self._kept_bytes :]
            self._parts, self._dropped = [kept], self.size - len(kept)

    def on_message_complete(self) -> None:
        """See httptools; what only announces an answer (100, 103) is none."""
        if self.status >= 200:  # noqa: PLR2004 OK
            self._is_whole, self._is_kept = True, self._parser.should_keep_alive()
        else:
            self._is_begun = False
            self.headers.clear()
