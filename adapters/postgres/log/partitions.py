"""Creates the partitions of `event` that an append needs."""

import threading
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import EPOCH, Instant

_MONTHS_BEFORE, _MONTHS_AFTER = 1, 2
"""How many months around the present get a partition in advance."""

_OLDEST = timedelta(days=5 * 366)
_NEWEST = timedelta(days=31 * _MONTHS_AFTER)
"""Streams of jobs made longer ago, or further ahead (a wrong clock), go to `event_default`."""

_ENSURE = text("SELECT * FROM ensure_partitions_v1(:first, :last)")


class Partitions:
    """The monthly partitions, each made at most once per process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: set[tuple[int, int]] = set()
        self._lock = threading.Lock()

    def ensure_around(self, now: Instant) -> None:
        """Make those of last month to the month after next; to be called at start and daily."""
        months = [_month_after(now, offset) for offset in range(-_MONTHS_BEFORE, _MONTHS_AFTER + 1)]
        self._ensure(months)

    def ensure_for(self, streams: Iterable[StreamId], now: Instant) -> None:
        """Make those that new streams belong to."""
        created = (created_at(stream) for stream in streams)
        self._ensure(
            [(at.year, at.month) for at in created if now - _OLDEST <= at <= now + _NEWEST]
        )

    def _ensure(self, months: Iterable[tuple[int, int]]) -> None:
        with self._lock:
            missing = sorted(set(months) - self._known)
        for year, month in missing:
            first = datetime(year, month, 1, tzinfo=UTC)
            with ledger_errors(self._engine.url), self._engine.connect() as connection:
                connection.execute(_ENSURE, {"first": first, "last": first})
        with self._lock:
            self._known.update(missing)


def created_at(stream: StreamId) -> Instant:
    """Return the creation of the job of a stream, to the millisecond; capped at year 9999."""
    milliseconds = min(stream.int >> 80, 253_402_300_799_000)
    return EPOCH + timedelta(milliseconds=milliseconds)


def _month_after(now: Instant, months: int) -> tuple[int, int]:
    years, month = divmod(now.year * 12 + now.month - 1 + months, 12)
    return years, month + 1
