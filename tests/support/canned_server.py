"""An HTTP server that answers as scripted, badly if so told: what no real API server does on order.

Each request takes the next answer of the script. When the script is over, every answer is one
without an end, such as that to a watch of which nothing happens: a client comes to rest there.
"""

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import parse_qsl, urlsplit

REQUEST_LIMIT_SECONDS = 60.0
"""How long a test waits for a request before it fails."""


class End(Enum):
    """How a connection ends after what was sent."""

    CLEAN = "the answer is complete"
    CUT = "the connection is closed in the middle"
    RESET = "the connection is reset"
    SILENCE = "nothing more comes, and nothing is closed"


class Gate(threading.Event):
    """A place in a script where the server waits until the test opens it."""


@dataclass(frozen=True)
class Answer:
    """A complete answer."""

    status: int = 200
    body: bytes | Mapping[str, Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Stream:
    """An answer in chunks, such as a watch."""

    parts: Sequence[bytes | Gate] = ()
    end: End = End.CLEAN
    chunked: bool = True
    """If not, the end of the connection is the end of the answer, as of old."""


@dataclass(frozen=True)
class NoAnswer:
    """The request is read, and then nothing is sent."""

    end: End = End.CUT


Scripted: TypeAlias = Answer | Stream | NoAnswer


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def json(self) -> Any:  # noqa: ANN401  # whatever was sent
        return json.loads(self.body)


class CannedServer:
    """Serves a script on a free port of the loopback, as a context manager."""

    def __init__(self, *script: Scripted, tls: ssl.SSLContext | None = None) -> None:
        self._script = list(script)
        self._received: list[Received] = []
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._connections: set[socket.socket] = set()
        self._scheme = "https" if tls else "http"
        self._server = _Server(self, tls)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    @property
    def received(self) -> list[Received]:
        with self._changed:
            return list(self._received)

    def add(self, *script: Scripted) -> None:
        """Lengthen the script; a request that is held already stays held."""
        with self._changed:
            self._script.extend(script)

    def wait_for_requests(self, number: int) -> list[Received]:
        """Return all requests once there are `number` of them; fail after a while."""
        with self._changed:
            arrived = self._changed.wait_for(
                lambda: len(self._received) >= number, REQUEST_LIMIT_SECONDS
            )
            assert arrived, f"{len(self._received)} of {number} requests: {self._received}"
            return list(self._received)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        with self._changed:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def opened(self, connection: socket.socket) -> None:
        """Remember a connection (called by its thread)."""
        with self._changed:
            self._connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        """Forget a connection (called by its thread)."""
        with self._changed:
            self._connections.discard(connection)

    def take(self, request: Received) -> Scripted:
        """Note a request and return what to answer (called by a connection's thread)."""
        with self._changed:
            self._received.append(request)
            self._changed.notify_all()
            return self._script.pop(0) if self._script else Stream(end=End.SILENCE)

    def hold(self, gate: Gate | None = None) -> None:
        """Wait for the gate, or for ever, but no longer than the server lives."""
        if gate is None:
            self._over.wait()
            return
        while not gate.wait(0.02) and not self._over.is_set():
            pass


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing the server waits for them
    request_queue_size = 64

    def __init__(self, canned: CannedServer, tls: ssl.SSLContext | None) -> None:
        self.canned = canned
        super().__init__(("127.0.0.1", 0), _Connection)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # theirs
        """Say nothing: broken connections are what this server is for."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def canned(self) -> CannedServer:
        assert isinstance(self.server, _Server)
        return self.server.canned

    def setup(self) -> None:
        super().setup()
        self.canned.opened(self.connection)

    def finish(self) -> None:
        self.canned.closed(self.connection)
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(length)
        scripted = self.canned.take(
            Received(self.command, self.path, dict(self.headers.items()), body)
        )
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            match scripted:
                case Answer():
                    self._complete(scripted)
                case Stream():
                    self._stream(scripted)
                case NoAnswer(end):
                    self._end(end)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_CONNECT = answer  # noqa: N815  # their names

    def _complete(self, answer: Answer) -> None:
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(answer.content)),
            **answer.headers,
        }
        self.send_response(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.content)

    def _stream(self, stream: Stream) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        name, value = (
            ("Transfer-Encoding", "chunked") if stream.chunked else ("Connection", "close")
        )
        self.send_header(name, value)
        self.end_headers()
        for part in stream.parts:
            if isinstance(part, Gate):
                self.canned.hold(part)
            elif stream.chunked:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            else:
                self.wfile.write(part)
        if stream.end is End.CLEAN:
            self.wfile.write(b"0\r\n\r\n" if stream.chunked else b"")
        else:
            self._end(stream.end)

    def _end(self, end: End) -> None:
        self.close_connection = True
        if end is End.SILENCE:
            self.canned.hold()
        elif end is End.RESET:
            raw = socket.socket(fileno=self.connection.detach())
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raw.close()


def watch_line(kind: str, manifest: Mapping[str, Any]) -> bytes:
    """Return one line of a watch."""
    return json.dumps({"type": kind, "object": manifest}).encode() + b"\n"


def list_of(
    *manifests: Mapping[str, Any], version: str = "100", continue_token: str = ""
) -> Answer:
    """Return an answer with one page of a list."""
    metadata = {"resourceVersion": version}
    if continue_token:
        metadata["continue"] = continue_token
    return Answer(
        body={"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": [*manifests]}
    )


def status(code: int, reason: str, message: str = "", **details: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
    """Return the body of an error as an API server writes it."""
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


def refusal(code: int, reason: str, message: str = "", **details: Any) -> Answer:  # noqa: ANN401  # JSON
    """Return an error as an API server answers it."""
    return Answer(code, status(code, reason, message, **details))
