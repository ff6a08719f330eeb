"""The containers' logs over HTTP, as a kubelet serves them.

`GET /logs/NAMESPACE/POD/UID?container=NAME&follow=true&tailLines=N&limitBytes=N&previous=true`;
each Pod carries this address in the annotation `LOG_ANNOTATION`.
"""

import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar, TypeAlias
from urllib.parse import parse_qs, urlsplit

from jobledger.sandbox.agent.threaded_server import Listener, ThreadedServer

LOG_ANNOTATION = "sandbox.jobledger.dev/log-url"

FOLLOW_POLL_SECONDS = 0.1
"""How often a followed log is looked at."""

READ_BYTES = 64 * 1024
TAIL_BYTES = 16 * 1024 * 1024
"""`tailLines` looks back no further than this."""

LogFile: TypeAlias = tuple[Path, Callable[[], bool]]
"""A log, and whether nothing more will be written to it."""

FindLog: TypeAlias = Callable[[str, str, bool], LogFile | None]
"""From the Pod's uid, the container's name (empty.

The first) and whether the one before the last restart is meant.
"""


class LogServer(ThreadedServer):
    """Serves logs on a free port of the loopback interface."""

    def __init__(self, find: FindLog) -> None:
        self.find = find
        self.stopping = threading.Event()
        super().__init__("sandbox-logs", _Handler)

    @property
    def logs_url(self) -> str:
        """Where logs are found: `URL/NAMESPACE/POD/UID`."""
        return f"{self.url}/logs"

    def end(self) -> None:
        """End every conversation and the threads that hold them."""
        self.stopping.set()
        super().end()


class _Handler(BaseHTTPRequestHandler):
    timeout: ClassVar[float | None] = 60.0

    def do_GET(self) -> None:
        """Answer one request for a log."""
        server = self.server.owner if isinstance(self.server, Listener) else None
        if not isinstance(server, LogServer):
            return
        url = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        parts = url.path.strip("/").split("/")
        found = None
        if len(parts) == 4 and parts[0] == "logs":  # noqa: PLR2004  # logs, namespace, pod, uid
            found = server.find(
                parts[3], query.get("container", ""), query.get("previous") == "true"
            )
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND, "no such log")
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            self._send(server, found, query)
        except OSError:
            return  # the reader went away

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's own name
        """Keep quiet: who reads logs is nobody's business."""

    def _send(self, server: LogServer, found: LogFile, query: dict[str, str]) -> None:
        path, is_over = found
        position = _tail_start(path, query.get("tailLines", ""))
        follows = query.get("follow") == "true"
        limit = query.get("limitBytes", "")
        left = int(limit) if limit.isdigit() else sys.maxsize  # from where the last lines begin
        while left > 0:
            ended = is_over()  # asked before reading, so that nothing is missed
            piece = _read(path, position)[:left]
            position += len(piece)
            left -= len(piece)
            if piece:
                self.wfile.write(piece)
            elif ended or not follows or server.stopping.wait(FOLLOW_POLL_SECONDS):
                return


def _tail_start(path: Path, lines: str) -> int:
    """Return where the last `lines` lines begin; 0 if no number is given."""
    if not lines.isdigit():
        return 0
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return 0
    if int(lines) == 0:
        return size
    start = max(0, size - TAIL_BYTES)
    with path.open("rb") as log:
        log.seek(start)
        data = log.read()
    place = len(data) - (1 if data.endswith(b"\n") else 0)
    for _ in range(int(lines)):
        place = data.rfind(b"\n", 0, place)
        if place < 0:
            return start
    return start + place + 1


def _read(path: Path, position: int) -> bytes:
    try:
        with path.open("rb") as log:
            log.seek(position)
            return log.read(READ_BYTES)
    except FileNotFoundError:
        return b""
