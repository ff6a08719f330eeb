"""Detects the end of a Ray job by the end of its log stream.

A head keeps `GET /api/jobs/<id>/logs/tail` open as long as the job runs. What comes is read and
dropped, for all jobs by one thread; the end is the hint. Everything that goes wrong only means
that there is no hint, or one too many: whoever is told asks the head.

Source: Ray's JobHead.tail_job_logs, a WebSocket; other servers stream the plain text.
"""

import base64
import contextlib
import os
import re
import resource
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from jobledger.adapters.ray.deadline import connect, seconds_left
from jobledger.adapters.ray.proxies import environment_proxies, proxy_credentials, proxy_for
from jobledger.adapters.ray.transport import ADDRESS, TOKEN
from jobledger.adapters.ray.web_socket import CLOSE, PING, PONG, FrameSkipper, control_frame
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import RayApiUnreachable

log = get_logger(__name__)

OPEN_SECONDS = 2.0
"""Longest time until the head of the answer is there, connecting included."""
HEAD_BYTES_MAX = 16 * 1024
"""Of the head of the answer; a longer one is none."""
READ_BYTES = 1 << 16
CLOSE_SECONDS = 5.0
"""Longest wait for the thread, which only ever waits for news."""
STREAMS_MAX = 2000
OF_THE_FILES = 4
"""So many times fewer streams than files that this process may open."""

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")


@dataclass(eq=False, slots=True)
class _Stream:
    """One job that is followed."""

    owner: "LogStreams"
    connection: socket.socket
    told: Callable[[], None]
    frames: FrameSkipper | None
    """None: what comes is plain text."""
    is_over: bool = False

    def stop(self) -> None:
        """Follow no more."""
        self.owner.drop(self)


@dataclass
class LogStreams:
    """Implements `core.ports.job_ends.JobEnds`. Its thread starts with the first stream."""

    proxies: Mapping[str, str] = field(default_factory=environment_proxies)
    streams_max: int = STREAMS_MAX

    def __post_init__(self) -> None:
        allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // OF_THE_FILES
        self._max = min(self.streams_max, allowed) if allowed > 0 else self.streams_max
        self._lock = threading.RLock()
        self._selector = selectors.DefaultSelector()
        self._streams: set[_Stream] = set()
        self._new: list[_Stream] = []
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)  # noqa: FBT003 as the library has it
        self._wake_writer.setblocking(False)  # noqa: FBT003 full, it need not be written to
        self._thread: threading.Thread | None = None
        self._closed = False

    def follow(
        self, address: str, submission_id: str, token: str, told: Callable[[], None]
    ) -> _Stream:
        """See `core.ports.job_ends.JobEnds.follow`."""
        with self._lock:
            if self._closed or len(self._streams) >= self._max:
                raise RayApiUnreachable(f"no more than {self._max} log streams are kept open")
        connection, rest, is_socket = _open(self.proxies, address, submission_id, token)
        stream = _Stream(self, connection, told, FrameSkipper() if is_socket else None)
        is_all = self._take(stream, rest)  # before the thread does, which may read at once
        if not self._look_out_for(stream):
            connection.close()
            raise RayApiUnreachable("no more log streams are followed now")
        if is_all:
            self._end(stream)
        self._wake()
        return stream

    def _look_out_for(self, stream: _Stream) -> bool:
        """Hand a stream to the thread; return False if there is none, or it will end."""
        with self._lock:
            if self._closed or not self._has_thread():
                return False
            self._streams.add(stream)
            self._new.append(stream)
            return True

    def _has_thread(self) -> bool:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="log-streams", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # there are too many; the next stream has it tried again
                return False
            self._thread = thread
        return True

    def drop(self, stream: _Stream) -> None:
        """Follow a job no more."""
        with self._lock:
            stream.is_over = True
        self._wake()

    def close(self) -> None:
        """Follow nobody any more and end the thread."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for stream in self._streams:
                stream.is_over = True
            thread = self._thread
        self._wake()
        if thread is not None:
            thread.join(CLOSE_SECONDS)
        for left in (self._selector, self._wake_reader, self._wake_writer):
            left.close()

    def __len__(self) -> int:
        return len(self._streams)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._wake_writer.send(b"x")

    def _run(self) -> None:
        self._selector.register(self._wake_reader, selectors.EVENT_READ, None)
        while not self._closed:
            for key, _ in self._selector.select():
                if key.data is None:
                    self._look_after()
                else:
                    self._serve(key.data)
        self._look_after()

    def _serve(self, stream: _Stream) -> None:
        """Read one stream; whatever goes wrong with it is its end, and nobody else's."""
        try:
            is_all = self._read(stream)
        except Exception:
            log.exception("log_stream_broken")
            is_all = True
        if is_all:
            self._end(stream)

    def _look_after(self) -> None:
        """Take in streams that are new, let go of those that are over."""
        with contextlib.suppress(BlockingIOError):
            while self._wake_reader.recv(4096):
                pass
        with self._lock:
            new, self._new = self._new, []
            over = [stream for stream in self._streams if stream.is_over]
            self._streams.difference_update(over)
        for stream in new:
            if not stream.is_over:
                try:
                    self._selector.register(stream.connection, selectors.EVENT_READ, stream)
                except Exception:  # the system may watch no more files
                    log.exception("log_stream_broken")
                    self._end(stream)
        for stream in over:
            self._forget(stream)

    def _read(self, stream: _Stream) -> bool:
        """Read what has come; return whether it was the end."""
        try:
            data = stream.connection.recv(READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return not data or self._take(stream, data)

    def _take(self, stream: _Stream, data: bytes) -> bool:
        """Pass over what the log says; return whether the head says that it was all."""
        if stream.frames is None:
            return False
        for opcode, payload in stream.frames.feed(data):
            if opcode == CLOSE:
                with contextlib.suppress(OSError):
                    stream.connection.send(control_frame(CLOSE))
                return True
            if opcode == PING:
                with contextlib.suppress(OSError):
                    stream.connection.send(control_frame(PONG, payload))
        return False

    def _end(self, stream: _Stream) -> None:
        """Tell whoever follows, once."""
        with self._lock:
            told, stream.is_over = stream.is_over, True
        if not told:
            try:
                stream.told()
            except Exception:  # one follower must not keep the others from being told
                log.exception("hint_broken")
        self._wake()

    def _forget(self, stream: _Stream) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(stream.connection)
        with contextlib.suppress(OSError):
            stream.connection.close()


def _open(
    proxies: Mapping[str, str], address: str, submission_id: str, token: str
) -> tuple[socket.socket, bytes, bool]:
    """Return a connection whose answer has begun, what came of it, and whether it is a WebSocket.

    Raises:
        RayApiUnreachable: the head does not let itself be followed.
    """
    if ADDRESS.fullmatch(address) is None or (token and TOKEN.fullmatch(token.strip()) is None):
        raise RayApiUnreachable("no address, or no token, with which a log could be followed")
    host, _, port = address.rpartition(":")
    path, lines = f"/api/jobs/{quote(submission_id, safe='')}/logs/tail", []
    proxy = proxy_for(address, proxies)
    if proxy is not None:
        parts = urlsplit(proxy)
        lines = [f"{name}: {value}" for name, value in proxy_credentials(proxy).items()]
        target, path = (parts.hostname or "", parts.port or 80), f"http://{address}{path}"
    else:
        target = (host.strip("[]"), int(port))
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {address}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
        *([f"x-ray-authorization: Bearer {token.strip()}"] if token.strip() else []),
        *lines,
    ]
    request = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
    ends = time.monotonic() + OPEN_SECONDS
    try:
        connection = connect(*target, ends)
    except OSError as error:
        raise RayApiUnreachable(f"the Ray head at {address} cannot be followed") from error
    try:
        return _answered(connection, request, address, ends)
    except BaseException:
        connection.close()
        raise


def _answered(
    connection: socket.socket, request: bytes, address: str, ends: float
) -> tuple[socket.socket, bytes, bool]:
    """Ask, and read the head of the answer; all of it until `ends`, on the monotonic clock."""
    try:
        connection.settimeout(seconds_left(ends))
        connection.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data and len(data) < HEAD_BYTES_MAX:
            connection.settimeout(seconds_left(ends))
            piece = connection.recv(READ_BYTES)
            if not piece:
                break
            data += piece
    except OSError as error:
        raise RayApiUnreachable(f"the Ray head at {address} cannot be followed") from error
    head, end, rest = data.partition(b"\r\n\r\n")
    if not end or len(head) > HEAD_BYTES_MAX:
        raise RayApiUnreachable(f"the Ray head at {address} lets no log be followed (no answer)")
    found = _STATUS.match(head)
    status = int(found[1]) if found is not None else 0
    is_plain = status == 200 and b"\r\ncontent-length:" not in head.lower()  # noqa: PLR2004 as HTTP has it
    if status != 101 and not is_plain:  # noqa: PLR2004 as HTTP has it
        raise RayApiUnreachable(f"the Ray head at {address} lets no log be followed ({status})")
    connection.setblocking(False)  # noqa: FBT003 as the library has it
    return connection, rest, status == 101  # noqa: PLR2004 as HTTP has it
