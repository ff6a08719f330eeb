"""Finds out why a server refuses a login where it says so in a language other than English.

libpq keeps the text of such a refusal alone, without its SQLSTATE. What a text means is found out
once, by a second login of which the protocol is written down.
"""

import re
import select
import tempfile
import time
from typing import Any

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from sqlalchemy import Dialect
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from jobledger.adapters.postgres.connection.errors import is_understood

_BY_A_SERVER = re.compile(r"\w:  ")
"""The severity before a server's own words, in any language; libpq writes two blanks there alone.

Source: libpq, `pqBuildErrorMessage3`.
"""

_STATE = re.compile(rb'\tErrorResponse\t.*? C "(\w{5})"')
"""Source: libpq, `pqTraceOutput_ErrorResponse`."""

_TEXTS_MAX = 100
"""How many are kept; another database's or user's refusal is another text."""


class Refusals:
    """Connects, and has a refusal keep its SQLSTATE. Safe for many threads."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}

    def connect(
        self,
        dialect: Dialect,
        _entry: ConnectionPoolEntry,
        args: tuple[Any, ...],
        how: dict[str, Any],
    ) -> DBAPIConnection:
        """Connect as the dialect does, in whose place an engine calls this."""
        try:
            return dialect.connect(*args, **how)
        except psycopg.OperationalError as error:
            text = str(error)
            if error.pgconn is None or not _BY_A_SERVER.search(text) or is_understood(text):
                raise
            state = self._states.get(text) or _ask(error.pgconn, how["connect_timeout"])
            if state is not None and len(self._states) < _TEXTS_MAX:
                self._states[text] = state
            error.sqlstate = state
            raise


def _ask(refused: pq.abc.PGconn, seconds: float) -> str | None:
    """Log in once more with the options of a connection; return the SQLSTATE of the refusal.

    None if it is not refused in time, or where the driver cannot write the protocol down (on all
    but Linux).
    """
    options = {option.keyword.decode(): option.val for option in refused.info if option.val}
    address = make_conninfo("", **{name: value.decode() for name, value in options.items()})
    with tempfile.TemporaryFile() as written:
        try:
            login = pq.PGconn.connect_start(address.encode())
            login.trace(written.fileno())
            _wait_for_answer(login, time.monotonic() + seconds)
            login.untrace()
            login.finish()
        except (psycopg.Error, OSError):
            return None
        written.seek(0)
        found = _STATE.search(written.read())
    return found[1].decode() if found else None


def _wait_for_answer(login: pq.abc.PGconn, until: float) -> None:
    wanted = {pq.PollingStatus.READING: select.POLLIN, pq.PollingStatus.WRITING: select.POLLOUT}
    while login.status != pq.ConnStatus.BAD and time.monotonic() < until:
        step = wanted.get(pq.PollingStatus(login.connect_poll()))
        if step is None:
            return
        looks = select.poll()
        looks.register(login.socket, step)
        looks.poll((until - time.monotonic()) * 1000)
