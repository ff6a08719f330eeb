"""A bad line for HTTP: single requests go wrong, and watch events are late, doubled or lost.

Rules wait for requests by method and a pattern in the target; each is used up a number of times.
Every request is noted, with what became of it.
"""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, BinaryIO

from tests.support.fault_proxy import CHUNK_BYTES, Connection, FaultProxy, LineCut

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Deed(Enum):
    """What becomes of a request."""

    ANSWER = auto()
    """It is not passed on; the answer is made up."""
    CUT = auto()
    """It is not passed on; the connection is cut."""
    LOSE_ANSWER = auto()
    """It is passed on and carried out; then the connection is cut without an answer."""
    SILENCE = auto()
    """It is not passed on, and nothing ever comes back."""
    LATE = auto()
    """It is passed on after a while."""
    HOLD = auto()
    """It is passed on once it is let go, whether or not anybody waits for the answer."""


class EventDeed(Enum):
    """What becomes of a watch event."""

    DOUBLE = auto()
    """It comes twice."""
    LOSE = auto()
    """It is lost, and so is the connection."""
    EXPIRE = auto()
    """An ERROR of code 410 comes in its place, and the watch ends."""


@dataclass(frozen=True, slots=True)
class Made:
    """A made-up answer."""

    code: int
    reason: str = ""
    """Of the Status in it; empty: the body is HTML, as a proxy on the way writes it."""
    message: str = "made up by a test"
    retry_after: int | None = None

    @property
    def content(self) -> bytes:
        """Return the whole answer, status line and headers included."""
        status = {
            "apiVersion": "v1",
            "kind": "Status",
            "metadata": {},
            "status": "Failure",
            "code": self.code,
            "reason": self.reason,
            "message": self.message,
        }
        body = json.dumps(status).encode() if self.reason else b"<html>made up by a test</html>"
        kind = "application/json" if self.reason else "text/html"
        lines = [f"HTTP/1.1 {self.code} Made Up", f"Content-Type: {kind}"]
        lines += [f"Content-Length: {len(body)}"]
        lines += [f"Retry-After: {self.retry_after}"] if self.retry_after is not None else []
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(slots=True)
class Request:
    """A request as it came, and what became of it."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    raw: bytes
    code: int = 0
    """Status code of the answer, made-up ones included; 0: none has come."""
    deed: Deed | None = None
    """What a rule did to it."""

    @property
    def is_watch(self) -> bool:
        """Whether it is answered by a stream of events."""
        return "watch=true" in self.target

    @property
    def json(self) -> Any:  # noqa: ANN401  # whatever was sent
        """Return the decoded body."""
        return json.loads(self.body) if self.body else {}


@dataclass(slots=True)
class _Rule:
    methods: str
    pattern: str
    left: int
    deed: Deed
    answer: Made = field(default_factory=lambda: Made(500))
    seconds: float = 0.0


@dataclass(slots=True)
class _EventRule:
    pattern: str
    left: int
    skip: int
    deed: EventDeed
    times: int = 0


class HttpFaultProxy(FaultProxy):
    """A `FaultProxy` in front of an HTTP server or an HTTP proxy."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self._judging = threading.Lock()
        self._rules: list[_Rule] = []
        self._event_rules: list[_EventRule] = []
        self._late_pattern, self._late_seconds = "", 0.0
        self._requests: list[Request] = []
        self._letting_go = threading.Event()
        self.before: Callable[[Request], None] = lambda _: None
        """Called with each request before anything becomes of it."""

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def requests(self, methods: str = "", pattern: str = "") -> list[Request]:
        """Return the requests so far: of some methods (a pattern), with a pattern in the target."""
        with self._judging:
            return [item for item in self._requests if _matches(item, methods, pattern)]

    def writes(self) -> list[Request]:
        """Return the requests that may have changed something."""
        return [item for item in self.requests() if item.method in WRITES]

    def answer(self, methods: str, pattern: str, answer: Made, *, times: int = 1) -> None:
        """Answer the next requests by ourselves."""
        self._add(_Rule(methods, pattern, times, Deed.ANSWER, answer))

    def spoil(self, methods: str, pattern: str, deed: Deed, *, times: int = 1) -> None:
        """Let something become of the next requests."""
        self._add(_Rule(methods, pattern, times, deed))

    def let_wait(self, methods: str, pattern: str, seconds: float, *, times: int = 1) -> None:
        """Let the next requests wait before they are passed on."""
        self._add(_Rule(methods, pattern, times, Deed.LATE, seconds=seconds))

    def let_go(self) -> None:
        """Pass on what is held, in any order; what is to be held later is passed on at once."""
        self._letting_go.set()

    def stop(self) -> None:
        """Cut everything and end every thread."""
        self._letting_go.set()
        super().stop()

    def spoil_events(self, pattern: str, deed: EventDeed, *, times: int = 1, skip: int = 0) -> None:
        """Let something become of the next events of watches with a pattern in the target.

        `skip` of them pass before each.
        """
        with self._judging:
            self._event_rules.append(_EventRule(pattern, times, skip, deed))

    def let_events_wait(self, pattern: str, seconds: float) -> None:
        """Let each event of watches with a pattern in the target wait, and those behind it."""
        with self._judging:
            self._late_pattern, self._late_seconds = pattern, seconds

    def clear(self) -> None:
        """Forget every rule."""
        with self._judging:
            self._rules.clear()
            self._event_rules.clear()
            self._late_pattern, self._late_seconds = "", 0.0

    def unused(self) -> list[str]:
        """Return the patterns of the rules that still wait for requests or events."""
        with self._judging:
            left = [f"{rule.methods} {rule.pattern}: {rule.left}" for rule in self._rules]
            return left + [f"{rule.pattern}: {rule.left}" for rule in self._event_rules]

    def serve(self, connection: Connection) -> None:
        """Serve requests, one after the other."""
        server: socket.socket | None = None
        with ExitStack() as files:
            questions = files.enter_context(connection.client.makefile("rb"))
            answers: BinaryIO | None = None
            while (request := _read_request(questions)) is not None:
                self.before(request)
                if self._is_dealt_with(connection, request):
                    continue
                is_late = request.deed in (Deed.HOLD, Deed.LATE)
                if server is not None and is_late:  # it may have been closed for being idle
                    server.close()
                    server = None
                if server is None or answers is None:
                    server = connection.connect(*self._upstream)
                    answers = files.enter_context(server.makefile("rb"))
                self.pass_on(connection, server, request.raw)
                if not self._answer(connection, request, answers):
                    return

    def _is_dealt_with(self, connection: Connection, request: Request) -> bool:
        """Note a request and do what a rule says; return whether it is answered by that."""
        with self._judging:
            self._requests.append(request)
            rule = next((r for r in self._rules if _matches(request, r.methods, r.pattern)), None)
            if rule is None:
                return False
            request.deed = rule.deed
            rule.left -= 1
            if not rule.left:
                self._rules.remove(rule)
        if rule.deed is Deed.ANSWER:
            request.code = rule.answer.code
            self.pass_on(connection, connection.client, rule.answer.content)
            return True
        if rule.deed is Deed.CUT:
            self._cut(connection)
        if rule.deed is Deed.SILENCE:
            while connection.client.recv(CHUNK_BYTES):
                pass
            raise LineCut
        if rule.deed is Deed.HOLD:
            self._letting_go.wait()
        self.wait(rule.seconds)
        return False

    def _cut(self, connection: Connection) -> None:
        connection.close(rudely=True)
        raise LineCut

    def _answer(self, connection: Connection, request: Request, answers: BinaryIO) -> bool:
        """Pass the answer on; return whether the connection goes on."""
        head, headers = _read_head(answers)
        if not head:
            raise LineCut
        request.code = int(head.split(b" ", 2)[1])
        chunked = "chunked" in headers.get("transfer-encoding", "")
        if request.is_watch and chunked and request.deed is not Deed.LOSE_ANSWER:
            self.pass_on(connection, connection.client, head)
            self._stream(connection, request, answers)
            return False
        body = _read_body(answers, headers, request.code)
        if request.deed is Deed.LOSE_ANSWER:
            self._cut(connection)
        self.pass_on(connection, connection.client, head + body)
        return chunked or "content-length" in headers or request.code in (204, 304)

    def _stream(self, connection: Connection, request: Request, answers: BinaryIO) -> None:
        """Pass the events of a watch on."""
        for line in _watch_lines(answers):
            if self._late_pattern and re.search(self._late_pattern, request.target):
                self.wait(self._late_seconds)
            deed = self._event_deed(request)
            if deed is EventDeed.LOSE:
                self._cut(connection)
            if deed is EventDeed.EXPIRE:
                self.pass_on(connection, connection.client, _chunk(_EXPIRED) + b"0\r\n\r\n")
                return
            times = 2 if deed is EventDeed.DOUBLE else 1
            self.pass_on(connection, connection.client, _chunk(line) * times)
        self.pass_on(connection, connection.client, b"0\r\n\r\n")

    def _event_deed(self, request: Request) -> EventDeed | None:
        with self._judging:
            for rule in self._event_rules:
                if re.search(rule.pattern, request.target):
                    rule.times += 1
                    if rule.times % (rule.skip + 1):
                        return None
                    rule.left -= 1
                    if not rule.left:
                        self._event_rules.remove(rule)
                    return rule.deed
        return None

    def _add(self, rule: _Rule) -> None:
        with self._judging:
            self._rules.append(rule)


_EXPIRED = (
    json.dumps(
        {
            "type": "ERROR",
            "object": {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "code": 410,
                "reason": "Expired",
                "message": "too old resource version",
            },
        }
    ).encode()
    + b"\n"
)


def _matches(request: Request, methods: str, pattern: str) -> bool:
    """Tell whether both are found; a watch is meant only by a pattern that says so."""
    if not re.fullmatch(methods or ".*", request.method):
        return False
    if request.is_watch and "watch" not in pattern and pattern:
        return False
    return re.search(pattern, request.target) is not None


def _read_request(questions: BinaryIO) -> Request | None:
    head, headers = _read_head(questions)
    if not head:
        return None
    method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
    length = int(headers.get("content-length", "0"))
    body = questions.read(length)
    if len(body) < length:
        raise LineCut
    return Request(method, target, headers, body, head + body)


def _read_head(file: BinaryIO) -> tuple[bytes, dict[str, str]]:
    """Return the head of a message and its headers; empty at the end of the connection."""
    lines: list[bytes] = []
    while (line := file.readline()) not in (b"\r\n", b"\n", b""):
        lines.append(line)
    if not lines:
        return b"", {}
    pairs = (line.decode("latin-1").split(":", 1) for line in lines[1:])
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    return b"".join([*lines, b"\r\n"]), headers


def _read_body(file: BinaryIO, headers: Mapping[str, str], code: int) -> bytes:
    """Return the body as it came, in chunks if it came in chunks."""
    if code in (204, 304):
        return b""
    if "chunked" in headers.get("transfer-encoding", ""):
        return b"".join(_chunk(data) for data in _chunks(file)) + b"0\r\n\r\n"
    if "content-length" in headers:
        return file.read(int(headers["content-length"]))
    return file.read()


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    """Yield what comes in chunks; raise `LineCut` if it breaks off."""
    while True:
        line = file.readline()
        if not line:
            raise LineCut
        length = int(line.split(b";")[0], 16)
        data = file.read(length)
        file.readline()
        if not length:
            return
        yield data


def _watch_lines(file: BinaryIO) -> Iterator[bytes]:
    rest = b""
    for data in _chunks(file):
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            yield line + b"\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
