"""A pool that waits for a connection of its own where the server has room for no other.

A limit of the login, or other programs that hold all connections of the server, would refuse each
statement beyond those at work, while the pool's own come free every few milliseconds.
"""

import logging

import psycopg
from sqlalchemy import QueuePool
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.util.queue import Empty

from jobledger.adapters.postgres.connection.errors import lacks_room

logging.getLogger(f"{__name__}.PatientPool").setLevel(logging.WARNING)
"""By this name SQLAlchemy tells of each connection that comes and goes, among our own lines."""


class PatientPool(QueuePool):
    """Makes connections as its base does, as many as the server lets it have."""

    def _do_get(self) -> ConnectionPoolEntry:
        try:
            return super()._do_get()
        except psycopg.OperationalError as error:
            if not lacks_room(error) or not self.checkedin() + self.checkedout():
                raise
            try:
                return self._pool.get(block=True, timeout=self._timeout)
            except Empty:
                raise error from None
