"""Tracks decisions that were handed out, and hands out again those not dealt with in time.

A decision that nobody can deal with (its stream cannot be read, say) must not keep others from
being handed out: each time in vain it waits twice as long, and takes no room while it waits.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from jobledger.core.values.ids import DecisionId

HANDED_OUT_SECONDS_MAX = 60.0
"""After this long a decision that was handed out counts as lost on the way."""

AGAIN_SECONDS_MAX = 3600.0
"""The longest from one handing out of a decision to the next."""


@dataclass(frozen=True, slots=True)
class _InVain:
    """A decision that was handed out and not dealt with."""

    wait_seconds: float
    """From the last handing out to the next."""
    again_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What was handed out, at one instant."""

    in_flight: frozenset[DecisionId]
    """Handed out lately: they take room."""
    waiting: frozenset[DecisionId]
    """Handed out in vain, and not to be handed out again yet."""
    again: frozenset[DecisionId]
    """Handed out in vain, and to be handed out again."""


class HandedOut:
    """The account of what was handed out. Instants are those of a monotonic clock, in seconds.

    It cannot grow without bound: what was handed out in vain took room for a minute, and is
    forgotten if it is not handed out for an hour after it has waited.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_flight: dict[DecisionId, float] = {}
        self._in_vain: dict[DecisionId, _InVain] = {}

    def account(self, now: float) -> Account:
        """Return what takes room and what waits."""
        with self._lock:
            self._lapse(now)
            in_flight = frozenset(self._in_flight)
            waiting = frozenset(
                decision for decision, vain in self._in_vain.items() if vain.again_at > now
            )
            again = frozenset(self._in_vain) - waiting - in_flight
            return Account(in_flight=in_flight, waiting=waiting, again=again)

    def add(self, decisions: Iterable[DecisionId], now: float) -> None:
        """Take note that decisions are handed out."""
        with self._lock:
            self._in_flight.update(dict.fromkeys(decisions, now))

    def forget(self, decision: DecisionId) -> int:
        """Take note that a decision was dealt with; return how many were in flight before."""
        with self._lock:
            before = len(self._in_flight)
            self._in_flight.pop(decision, None)
            self._in_vain.pop(decision, None)
            return before

    def forget_waits(self) -> None:
        """Let none wait: what made it vain to hand them out may have passed."""
        with self._lock:
            self._in_vain.clear()

    def _lapse(self, now: float) -> None:
        lost_before = now - HANDED_OUT_SECONDS_MAX
        for decision, since in list(self._in_flight.items()):
            if since < lost_before:
                del self._in_flight[decision]
                last = self._in_vain.get(decision)
                wait = HANDED_OUT_SECONDS_MAX if last is None else 2 * last.wait_seconds
                wait = min(wait, AGAIN_SECONDS_MAX)
                self._in_vain[decision] = _InVain(wait, since + wait)
        forgotten_before = now - AGAIN_SECONDS_MAX
        for decision, vain in list(self._in_vain.items()):
            if vain.again_at < forgotten_before and decision not in self._in_flight:
                del self._in_vain[decision]
