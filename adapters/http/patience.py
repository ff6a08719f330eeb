"""Limits of the HTTP server: how long it waits for a request, and for how many at once.

Whoever can reach the port can open connections and send nothing, or half a request, before any
token is asked for. Such a connection is closed after `HEAD_SECONDS`; beyond `WAITING_MAX` of them
the one that has waited longest is closed at once, so a probe that comes and asks is answered.
"""

import asyncio
import logging
import time
from typing import Protocol

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated

log = get_logger(__name__)

HEAD_SECONDS = 10.0
"""So long a connection may take for the head of a request, also of a second one."""

WAITING_MAX = 100
"""So many connections may be without a request under way."""

REQUEST_SECONDS = 120.0
"""So long a request with its answer may take: a reader that takes nothing is not waited for."""

REQUESTS_MAX = 200
"""So many requests may be under way; the oldest makes way for the next."""


UNANSWERED = frozenset({h11.IDLE, h11.SEND_RESPONSE})
"""States of a connection in which an answer can begin."""


class Connection(Protocol):
    """One that waits for something."""

    loop: asyncio.AbstractEventLoop

    def close(self) -> None:
        """End it, whatever is under way."""


class Queue:
    """Connections in one state, the one that has been in it longest first."""

    def __init__(self, most: int, seconds: float) -> None:
        """Take how many there may be, and how long each."""
        self._most, self._seconds = most, seconds
        self._timers: dict[Connection, asyncio.TimerHandle] = {}

    def enter(self, one: Connection) -> None:
        """Take a connection in, and close the oldest if there are too many."""
        self.leave(one)
        self._timers[one] = one.loop.call_later(self._seconds, one.close)
        if len(self._timers) > self._most:
            next(iter(self._timers)).close()

    def leave(self, one: Connection) -> None:
        """Let a connection go, if it is here."""
        timer = self._timers.pop(one, None)
        if timer is not None:
            timer.cancel()


class PatientProtocol(H11Protocol):
    """One connection: it waits for a request, or one is under way."""

    waiting: Queue
    asking: Queue
    no_http: Repeated

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base has it
        """Wait for a request."""
        super().connection_made(transport)
        self.waiting.enter(self)

    def handle_events(self) -> None:
        """Take in what came; once the head of a request is whole, the connection waits no more."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self.waiting.leave(self)
            self.asking.enter(self)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.asking.leave(self)
        if not self.transport.is_closing():
            self.waiting.enter(self)
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, unless an answer is under way or done: then it is cut off.

        uvicorn would let the application answer after that, which h11 refuses: thirty lines in the
        log for each request of whoever can reach the port.
        """
        address = self.client[0] if self.client else ""
        self.no_http.warn_of_one(h11.RemoteProtocolError("no HTTP"), address=address)
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in UNANSWERED:
            super().send_400_response(msg)
        else:
            self.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Answer a request for another protocol as if it had not asked, and log nothing.

        uvicorn advises in two lines to install WebSockets, at each request of whoever comes.
        """

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.waiting.leave(self)
        self.asking.leave(self)
        super().connection_lost(exc)

    def close(self) -> None:
        """End the connection, whatever is under way."""
        self.waiting.leave(self)
        self.asking.leave(self)
        self.transport.abort()


def _is_not_told_elsewhere(record: logging.LogRecord) -> bool:
    """Return whether a line of uvicorn's is to be written: it has one for each such request."""
    return not str(record.msg).startswith("Invalid HTTP request")


def patient_protocol(head_seconds: float = HEAD_SECONDS) -> type[PatientProtocol]:
    """Return the protocol of one server: its connections share their queues."""
    logging.getLogger("uvicorn.error").addFilter(_is_not_told_elsewhere)

    class OfOneServer(PatientProtocol):
        waiting = Queue(WAITING_MAX, head_seconds)
        asking = Queue(REQUESTS_MAX, REQUEST_SECONDS)
        no_http = Repeated(log, "request_is_no_http", time.monotonic)

    return OfOneServer
