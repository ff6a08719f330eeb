"""What goes wrong in a soak, one thing after the other. Seeded.

The first replica is never killed, only stopped for a while: its memory, descriptors and threads are
those that are judged.
"""

import signal
import time
from collections import Counter
from random import Random

from jobledger.adapters.telemetry.logging import get_logger
from tests.soak.place import Place

log = get_logger(__name__)

SHORT_SECONDS, LONG_SECONDS = 3.0, 22.0
"""Pauses of a stopped replica: within its lease, and beyond."""

DECK = ("SIGKILL", "SIGKILL", "SIGSTOP", "SIGSTOP", "Postgres", "API server")
"""Drawn without putting back, so that a short run has some of each."""


class Chaos:
    """Makes trouble, in the thread that it is given: what a thread starts may end with it."""

    def __init__(self, place: Place, seed: int, every_seconds: float) -> None:
        self._place, self._dice, self._every = place, Random(seed + 2), every_seconds
        self._deck: list[str] = []
        self.made: Counter[str] = Counter()
        """Kinds of trouble, and how often each was made."""

    def go_on(self, seconds: float) -> None:
        """Make trouble for so long; then let everything run again."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pause = self._every * (0.5 + self._dice.random())
            time.sleep(min(pause, max(0.0, until - time.monotonic())))
            if time.monotonic() < until:
                self._trouble()
        for name, replica in self._place.replicas.items():
            self._place.signal(name, signal.SIGCONT)
            if not replica.running and not replica.has_died:
                self._place.start_replica(name)

    def _trouble(self) -> None:
        dice, place = self._dice, self._place
        steady, *others = place.replicas
        if not self._deck:
            self._deck = list(DECK)
            dice.shuffle(self._deck)
        what = self._deck.pop()
        self.made[what] += 1
        log.warning("soak_trouble", what=what)
        if what == "SIGKILL" and others:
            name = dice.choice(others)
            place.replicas[name].kill()
            time.sleep(dice.choice((0.5, 20.0)))
            place.start_replica(name)
        elif what == "SIGSTOP":
            name = dice.choice([steady, *others])
            place.signal(name, signal.SIGSTOP)
            time.sleep(dice.choice((SHORT_SECONDS, LONG_SECONDS)))
            place.signal(name, signal.SIGCONT)
        elif what == "Postgres":
            place.restart_postgres(is_rude=dice.random() < 0.5)
        elif what == "API server":
            place.restart_api_server(with_etcd=dice.random() < 0.3)
