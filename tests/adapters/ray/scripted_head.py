"""A head that sends exactly the bytes it was told to, piece by piece, and then what it was told.

Below HTTP on purpose: half answers and broken ones cannot be had from an HTTP server.
"""

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Self

TRICKLE_SECONDS = 0.01
"""Between two bytes of a trickle; the whole would take minutes."""


class Then(Enum):
    """What follows the bytes."""

    CLOSE = "the connection is closed"
    RESET = "the connection is reset"
    SILENCE = "nothing, and nothing is closed"


@dataclass(frozen=True)
class Script:
    """One answer."""

    content: bytes = b""
    then: Then = Then.CLOSE
    trickle: bool = False
    """Whether the bytes come one by one."""


def answer(body: object, status: str = "200 OK", headers: str = "") -> Script:
    """Return a whole answer; what is not bytes is written as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    length = f"Content-Length: {len(content)}"
    head = f"HTTP/1.1 {status}\r\n{length}\r\nConnection: close\r\n{headers}\r\n"
    return Script(head.encode() + content)


class ScriptedHead:
    """Answers each connection with the next script, the last one for ever; a context manager."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    @property
    def first_lines(self) -> Sequence[str]:
        """Method and target of each request."""
        return [request.split(" HTTP/1.1", 1)[0] for request in self.requests]

    def _serve(self) -> None:
        """Serve one connection after the other; the silent ones stay open to the end."""
        with contextlib.ExitStack() as silent:
            while not self._over.is_set():
                try:
                    connection, _ = self._listener.accept()
                except OSError:
                    return
                script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self.requests.append(_read_request(connection))
                    self._send(connection, script)
                if script.then is Then.SILENCE:
                    silent.enter_context(connection)
                    continue
                if script.then is Then.RESET:
                    linger = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                connection.close()

    def _send(self, connection: socket.socket, script: Script) -> None:
        if not script.trickle:
            connection.sendall(script.content)
            return
        for byte in script.content:
            connection.sendall(bytes([byte]))
            if self._over.wait(TRICKLE_SECONDS):
                return


def _read_request(connection: socket.socket) -> str:
    """Return a whole request, headers and body."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(1 << 16) or b"\r\n\r\n"
    head, _, body = received.partition(b"\r\n\r\n")
    length = 0
    for line in head.decode().lower().split("\r\n"):
        if line.startswith("content-length:"):
            length = int(line.partition(":")[2])
    while len(body) < length:
        body += connection.recv(1 << 16) or b" " * length
    return f"{head.decode()}\r\n\r\n{body.decode(errors='replace')}"
