"""Releases shards beyond this replica's share, one after the other.

For a shard that leaves nothing new is done from the moment on (`LeaseKeeper.may_act`). What is in
flight may end, for a moment: its outcome is written down by who asked for it. Then the shard is
freed. Whatever has not ended by then changes nothing for who comes next: it was in the log before,
and acts by name and precondition.
"""

from collections.abc import Callable
from dataclasses import dataclass

from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.work.workers import Workers
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.ports.clock import Clock

log = get_logger(__name__)

IN_FLIGHT_SECONDS_MAX = 2.0
"""How long the shards wait for requests under way; most take some milliseconds."""


@dataclass(slots=True)
class ShardRelease:
    """The shards that are about to leave. Of the turn's thread."""

    leases: LeaseKeeper
    workers: Workers
    clock: Clock
    hear_out: Callable[[], None]
    """Takes turns until what has come in is decided."""
    let_go: Callable[[frozenset[int]], None]
    """Drops all that is known of the jobs of shards that are free."""
    wake: Callable[[], None]
    """Called when a shard is to stay after all: decisions may have fallen due."""
    _leaving: frozenset[int] = frozenset()
    _since: float = 0.0

    def go_on(self) -> None:
        """Free what leaves, once nothing of it is in flight."""
        before, leaving = self._leaving, self.leases.leaving()
        self._leaving = leaving
        if before - leaving:
            self.wake()
        if not leaving:
            return
        now = self.clock.monotonic()
        if not before:
            self._since = now
        is_patient = not self._is_cut_off() and now - self._since < IN_FLIGHT_SECONDS_MAX
        if is_patient and self.workers.is_busy(leaving):
            return
        self.hear_out()
        given = self.leases.give_up(leaving)
        if given:
            self.let_go(given)
            log.info("shards_given_up", shards=len(given))
        self._leaving -= given  # what is to stay after all is noticed the next time

    def _is_cut_off(self) -> bool:
        """Return whether nothing that is in flight will come back soon."""
        return self.leases.share is not None and self.leases.share.is_cut_off()
