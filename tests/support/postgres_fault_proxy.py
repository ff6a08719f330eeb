"""A bad line to Postgres: it may break while a statement is under way, before or after its commit.

Source: PostgreSQL documentation, "Frontend/Backend Protocol", message formats.
"""

import struct
import threading
from collections.abc import Iterator
from enum import Enum, auto

from tests.support.fault_proxy import FaultProxy, Tap

_ENCRYPTION_REQUESTS = frozenset({80877103, 80877104})
"""Codes of SSLRequest and GSSENCRequest; a startup message follows."""

_READY_FOR_QUERY = b"Z\x00\x00\x00\x05"


class Moment(Enum):
    """When the line breaks."""

    BEFORE = auto()
    """The statement never arrives."""
    AFTER_COMMIT = auto()
    """The statement is carried out and committed; its answer is lost."""


class _Messages:
    """Cuts what a client sends into messages."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_starting = True

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield type and content of every message that is complete now, but the first ones."""
        self._rest += data
        while True:
            kind = b"" if self._is_starting else self._rest[:1]
            if len(self._rest) < len(kind) + 4:
                return
            (length,) = struct.unpack_from("!I", self._rest, len(kind))
            if len(self._rest) < len(kind) + length:
                return
            content = self._rest[len(kind) + 4 : len(kind) + length]
            self._rest = self._rest[len(kind) + length :]
            if self._is_starting:
                (code,) = struct.unpack_from("!I", content)
                self._is_starting = code in _ENCRYPTION_REQUESTS
            else:
                yield kind, content


class _StatementTap:
    """Finds executions of statements, also of those that were prepared long ago."""

    def __init__(self, line: "PostgresFaultProxy") -> None:
        self._line = line
        self._messages = _Messages()
        self._prepared: dict[bytes, bytes] = {}
        self._cutting = False

    def up(self, data: bytes) -> bytes | None:
        for kind, content in self._messages.feed(data):
            statement = self._executed(kind, content)
            moment = self._line.moment_for(statement) if statement else None
            if moment is Moment.BEFORE:
                return None
            self._cutting = self._cutting or moment is Moment.AFTER_COMMIT
        return data

    def down(self, data: bytes) -> bytes | None:
        if not self._cutting:
            return data
        return None if _READY_FOR_QUERY in data else b""

    def _executed(self, kind: bytes, content: bytes) -> bytes:
        """Return the statement that a message executes; empty if it executes none."""
        if kind == b"Q":
            return content
        if kind == b"P":
            name, text, _ = content.split(b"\0", 2)
            self._prepared[name] = text
        if kind == b"B":
            _, name, _ = content.split(b"\0", 2)
            return self._prepared.get(name, b"")
        return b""


class PostgresFaultProxy(FaultProxy):
    """A `FaultProxy` in front of Postgres (without TLS)."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self._counting = threading.Lock()
        self._wanted = b""
        self._moment = Moment.BEFORE
        self._left = 0
        self._skip = 0
        self._times = 0

    def tap(self) -> Tap:
        """Return who looks for statements."""
        return _StatementTap(self)

    def cut_at(self, statement: str, moment: Moment, *, times: int = 1, skip: int = 0) -> None:
        """Cut the connection at the next executions of a statement with this text.

        `skip` of them pass between two cuts.
        """
        with self._counting:
            self._wanted, self._moment = statement.encode(), moment
            self._left, self._skip, self._times = times, skip, 0

    def unused(self) -> int:
        """Return how many cuts have not happened yet."""
        with self._counting:
            return self._left

    def moment_for(self, statement: bytes) -> Moment | None:
        """Return when to cut, if this statement is one to be cut at, and count it."""
        with self._counting:
            if not self._left or self._wanted not in statement:
                return None
            self._times += 1
            if self._times % (self._skip + 1):
                return None
            self._left -= 1
            return self._moment
