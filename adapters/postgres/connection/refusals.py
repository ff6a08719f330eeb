"""Finds out why a server refuses a login, in whatever language it says so; and tries less often.

libpq keeps the text of such a refusal alone, without its SQLSTATE. What a text means is found out
once, by a second login of which the protocol is written down.
"""

import os
import re
import select
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, Dialect
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from jobledger.adapters.postgres.connection.errors import is_refused_user, is_understood

_BY_A_SERVER = re.compile(r"\w:  ")
"""The severity before a server's own words, in any language; libpq writes two blanks there alone.

Source: libpq, `pqBuildErrorMessage3`.
"""

_STATE = re.compile(rb'\tErrorResponse\t.*? C "(\w{5})"')
"""Source: libpq, `pqTraceOutput_ErrorResponse`."""

_TEXTS_MAX = 100
"""How many texts are kept, and logins; another database's or user's refusal is another text."""


_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 30.0
"""How long no login follows one whose user was refused: twice as long each time, and at most."""


@dataclass(frozen=True, slots=True)
class _Refused:
    """A login whose user was refused."""

    password: object
    told: str
    state: str | None
    seconds: float
    """How long no other follows."""
    until: float
    """Monotonic instant until which none does."""


class Refusals:
    """Connects, and has a refusal keep its SQLSTATE. Safe for many threads.

    A user who is refused waits before each further login, as some servers lock an account after a
    few; one with another password does not.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._states: dict[str, str] = {}
        self._refused: _Refused | None = None
        self._lock = threading.Lock()

    def connect(
        self,
        dialect: Dialect,
        _entry: ConnectionPoolEntry,
        args: tuple[Any, ...],
        how: dict[str, Any],
    ) -> DBAPIConnection:
        """Connect as the dialect does, in whose place an engine calls this."""
        before = self._held_back(how.get("password"))
        try:
            connection = dialect.connect(*args, **how)
        except psycopg.OperationalError as error:
            error.sqlstate = error.sqlstate or self._state(error, how["connect_timeout"])
            if is_refused_user(error):
                self._refused = _after(error, how.get("password"), before, self._now())
            raise
        self._refused = None
        return connection

    def _held_back(self, password: object) -> _Refused | None:
        """Raise the refusal of an earlier login while none is to follow it; else return it."""
        with self._lock:
            refused, now = self._refused, self._now()
            if refused is None or refused.password != password:
                return None
            if now >= refused.until:  # others wait for what becomes of this login
                self._refused = replace(refused, until=now + refused.seconds)
                return refused
        error = psycopg.OperationalError(refused.told)
        error.sqlstate = refused.state
        raise error

    def _state(self, error: psycopg.Error, seconds: float) -> str | None:
        """Return the SQLSTATE of a refusal whose words are not understood, None of any other."""
        text = str(error)
        if error.pgconn is None or not _BY_A_SERVER.search(text) or is_understood(text):
            return None
        state = self._states.get(text) or _ask(error.pgconn, seconds)
        if state is not None and len(self._states) < _TEXTS_MAX:
            self._states[text] = state
        return state


@lru_cache(maxsize=_TEXTS_MAX)
def refusals_of(login: URL) -> Refusals:
    """Return what all engines of this process share that log in as the same user there."""
    del login
    return Refusals()


def _after(error: psycopg.Error, password: object, before: _Refused | None, now: float) -> _Refused:
    twice = _PAUSE_SECONDS if before is None else before.seconds * 2
    seconds = min(twice, _LONGEST_PAUSE_SECONDS)
    return _Refused(password, str(error), error.sqlstate, seconds, now + seconds)


def _ask(refused: pq.abc.PGconn, seconds: float) -> str | None:
    """Log in once more with the options of a connection; return the SQLSTATE of the refusal.

    None if it is not refused in time, or where the driver cannot write the protocol down (on all
    but Linux). What is written may hold the password, so it never is on a disk.
    """
    options = {option.keyword.decode(): option.val for option in refused.info if option.val}
    address = make_conninfo("", **{name: value.decode() for name, value in options.items()})
    try:
        with os.fdopen(os.memfd_create("login"), "rb") as written:
            login = pq.PGconn.connect_start(address.encode())
            login.trace(written.fileno())
            try:
                _wait_for_answer(login, time.monotonic() + seconds)
            finally:
                login.untrace()
                login.finish()
            written.seek(0)
            found = _STATE.search(written.read())
    except (psycopg.Error, OSError, AttributeError):
        return None
    return found[1].decode() if found else None


def _wait_for_answer(login: pq.abc.PGconn, until: float) -> None:
    wanted = {pq.PollingStatus.READING: select.POLLIN, pq.PollingStatus.WRITING: select.POLLOUT}
    while login.status != pq.ConnStatus.BAD and time.monotonic() < until:
        step = wanted.get(pq.PollingStatus(login.connect_poll()))
        if step is None:
            return
        looks = select.poll()
        looks.register(login.socket, step)
        looks.poll(max(0.0, until - time.monotonic()) * 1000)
