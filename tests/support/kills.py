"""Kills a controller again and again while something else takes place."""

import random
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.processes import Controller

ALIVE_SECONDS = (0.2, 20.0)
"""How long it lives at a time: at least, and at most."""


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether a controller is there, for whoever waits until nothing happens any more."""

    _is_away: threading.Event = field(default_factory=threading.Event)

    @property
    def is_away(self) -> bool:
        """Whether it was killed, and has not taken up its work again."""
        return self._is_away.is_set()

    def left(self) -> None:
        """It is about to be killed."""
        self._is_away.set()

    def returned(self) -> None:
        """It is ready again."""
        self._is_away.clear()


@contextmanager
def killed(controller: Controller, presence: Presence, seed: int) -> Iterator[None]:
    """Kill it with SIGKILL at moments that a seed draws while the body runs; start it each time."""
    dice, ended = random.Random(seed), threading.Event()

    def kill() -> int:
        kills = 0
        while not ended.wait(dice.uniform(*ALIVE_SECONDS)):
            presence.left()
            controller.kill()
            controller.start()
            presence.returned()
            kills += 1
        return kills

    with ThreadPoolExecutor(1, "kills") as thread:
        running = thread.submit(kill)
        try:
            yield
        finally:
            ended.set()
            sys.stderr.write(f"the controller was killed {running.result()} times\n")
