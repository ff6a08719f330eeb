"""Limits the wait for an answer of Postgres to slightly more than the statement time-out.

A server ends each statement at its time limit. If nothing has come a while after that, nobody is
there any more, whatever the connection looks like: a proxy or a balancer acknowledges what it gets
also for a server that it has lost, and no time limit of TCP notices. Then the connection is cut,
and whoever waits learns that it is lost.
"""

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Self

import psycopg
from sqlalchemy import Connection, text

from jobledger.adapters.postgres.connection.pooler import require_own_session

GRACE_SECONDS = 10.0
"""How long after the limit of a statement the server's word that it was reached may take."""

_UNHURRIED = "jobledger_unhurried"
"""Attribute of a connection whose statements may take as long as they need."""

_LOOKS = 8
"""How often connections are looked at in the time of one limit."""


@dataclass(slots=True)
class _Wait:
    file: int
    until: float
    """Monotonic instant."""
    is_cut: bool = False


class AnswerLimit:
    """Cuts connections on which an answer takes too long. For the connections of one engine."""

    def __init__(self, seconds: float) -> None:
        """Take the limit; it is kept to an eighth of it."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._waits: dict[int, _Wait] = {}
        self._is_watching = False

    @contextmanager
    def waiting(self, connection: psycopg.Connection[Any]) -> Iterator[None]:
        """Limit what is waited for inside.

        Raises `psycopg.OperationalError` in place of the driver's if the connection was cut.
        """
        number, wait = self._begin(connection.fileno())
        try:
            yield
        except psycopg.Error as error:
            if wait.is_cut:
                sentence = f"no answer within {self._seconds:g} s; the connection was cut"
                raise psycopg.OperationalError(sentence) from error
            raise
        finally:
            with self._lock:  # from now on the file may be another's
                del self._waits[number]

    def _begin(self, file: int) -> tuple[int, _Wait]:
        wait = _Wait(file, time.monotonic() + self._seconds)
        with self._lock:
            number = next(self._numbers)
            self._waits[number] = wait
            if not self._is_watching:
                self._is_watching = self._start_watching()
        return number, wait

    def _start_watching(self) -> bool:
        """Return whether there is a thread that looks; if not, the next wait asks for one again."""
        try:
            threading.Thread(target=self._watch, name="answer-limit", daemon=True).start()
        except RuntimeError:  # there are too many
            return False
        return True

    def _watch(self) -> None:
        """Look now and then, until nobody waits."""
        while True:
            time.sleep(self._seconds / _LOOKS)
            with self._lock:
                self._is_watching = False  # should a look fail, the next wait starts another thread
                if not self._waits:
                    return
                now = time.monotonic()
                for wait in self._waits.values():
                    if wait.until <= now and not wait.is_cut:
                        _cut(wait)
                self._is_watching = True


def _cut(wait: _Wait) -> None:
    """End a connection for whoever reads from it; the file itself is left to its owner.

    It takes no file of its own: there may be none left. Without success it is tried again at the
    next look.
    """
    try:
        end = socket.socket(fileno=wait.file)
        try:
            wait.is_cut = True  # before its reader wakes up
            end.shutdown(socket.SHUT_RDWR)
        finally:
            end.detach()
    except (OSError, ValueError):
        return  # it had ended already


@contextmanager
def unhurried(connection: Connection) -> Iterator[None]:
    """Let the statements inside take as long as they need: walks over the whole log do.

    In a transaction it holds for that alone, which a pooler leaves to one server process.

    Raises:
        LedgerMisconfigured: there is no transaction, and a pooler is in between.
    """
    raw: Any = connection.connection.driver_connection
    alone = not raw.autocommit
    if not alone:
        require_own_session(connection, "a walk over the whole log")
    before = connection.execute(text("SHOW statement_timeout")).scalar_one()
    change = text("SELECT set_config('statement_timeout', :it, :alone)")
    connection.execute(change, {"it": "0", "alone": alone})
    setattr(raw, _UNHURRIED, True)
    try:
        yield
        connection.execute(change, {"it": before, "alone": alone})
    except BaseException:
        connection.invalidate()  # nobody else gets it without its limit
        raise
    finally:
        setattr(raw, _UNHURRIED, False)


class LimitedCursor(psycopg.Cursor[Any]):
    """A cursor whose statements are waited for no longer than its class' limit says."""

    limit: AnswerLimit

    def execute(self, *statement: Any, **how: Any) -> Self:  # noqa: ANN401 passed on
        """See psycopg."""
        with limited(self.connection):
            return super().execute(*statement, **how)


def limited_cursor(limit: AnswerLimit) -> type[psycopg.Cursor[Any]]:
    """Return the class of cursors whose statements are waited for no longer than `limit` says."""
    return type("LimitedCursor", (LimitedCursor,), {"limit": limit})


def limited(connection: psycopg.Connection[Any]) -> AbstractContextManager[None]:
    """Limit what is waited for on a connection inside, as its cursors are."""
    cursors = connection.cursor_factory
    if getattr(connection, _UNHURRIED, False) or not issubclass(cursors, LimitedCursor):
        return nullcontext()
    limit: AnswerLimit = cursors.limit
    return limit.waiting(connection)
