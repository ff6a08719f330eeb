"""A pool that waits for a connection of its own where the server has room for no other.

A limit of the login, or other programs that hold all connections of the server, would refuse each
statement beyond those at work, while the pool's own come free every few milliseconds.
"""

import logging
import select
import time
from contextlib import suppress
from typing import Any

import psycopg
from sqlalchemy import QueuePool
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.util.queue import Empty

from jobledger.adapters.postgres.connection.errors import lacks_room

logging.getLogger(f"{__name__}.PatientPool").setLevel(logging.WARNING)
"""By this name SQLAlchemy tells of each connection that comes and goes, among our own lines."""

_AGAIN_SECONDS = 0.25
"""So long one of its own is waited for before the server is asked for another once more."""


class PatientPool(QueuePool):
    """Makes connections as its base does, as many as the server lets it have.

    An entry that it gives has a connection, and one that nobody has ended meanwhile.
    """

    def _do_get(self) -> ConnectionPoolEntry:
        until, waiting = time.monotonic() + self._timeout, None
        while True:
            try:
                return self._connected(waiting or super()._do_get())
            except psycopg.OperationalError as error:
                others = self.checkedin() + self.checkedout()
                if not lacks_room(error) or not others or time.monotonic() >= until:
                    raise
            waiting = None
            with suppress(Empty):
                waiting = self._pool.get(block=True, timeout=_AGAIN_SECONDS)

    def _connected(self, entry: Any) -> ConnectionPoolEntry:  # noqa: ANN401 SQLAlchemy's own class
        """Connect an entry anew whose connection is gone; one that cannot be is none of the pool's.

        A restart, a limit of idle sessions or a pooler ends it: its last words, or its end, can be
        read from it. Nothing can be read from one that is alive, and there is no question to be
        answered.
        """
        try:
            if entry.dbapi_connection is not None and _has_ended(entry.dbapi_connection):
                entry.invalidate()
            entry.get_connection()
        except BaseException:
            entry.close()
            self._dec_overflow()
            raise
        return entry  # type: ignore[no-any-return]


def _has_ended(connection: psycopg.Connection[Any]) -> bool:
    if connection.closed:
        return True
    looks = select.poll()
    looks.register(connection.fileno(), select.POLLIN)
    return bool(looks.poll(0))
