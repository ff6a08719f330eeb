"""Keeps the threads of this process on one core, and moves them where another is much freer.

Of the threads of an interpreter one computes at a time. Where they are spread over cores, each
hand-over wakes another core, whose caches hold nothing of it (docs/decisions/0083-one-core.md).
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from jobledger.adapters.process.meanwhile import meanwhile
from jobledger.adapters.telemetry.dice import dice
from jobledger.adapters.telemetry.logging import get_logger

EVERY_SECONDS = 2.0
MARGIN = 0.25
"""By how much of a core another has to be freer before the threads move there."""

_STAT = Path("/proc/stat")
_TASKS = Path("/proc/self/task")
_TICKS_PER_SECOND = 100  # USER_HZ, the unit of /proc/stat

log = get_logger(__name__)


def better_core(core: int | None, busy: Mapping[int, float], own: float) -> int | None:
    """Return the core to move to; None: stay.

    Args:
        core: where all threads are, if they are on one.
        busy: how much of each core that may be used was in use, from 0 to 1.
        own: how much of a core this process itself used.
    """
    freest = min(busy, key=lambda one: (busy[one], one))
    if core is None or core not in busy:
        return freest
    others = max(0.0, busy[core] - own)
    return freest if others - busy[freest] > MARGIN else None


def busy_seconds(stat: str) -> dict[int, float]:
    """Return for how long each core has been at work, by the kernel's account (`proc(5)`)."""
    found = {}
    for line in stat.splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name != "cpu":
            user, nice, system, _idle, _waiting, *rest = map(int, numbers[:8])
            found[int(name[3:])] = (user + nice + system + sum(rest)) / _TICKS_PER_SECOND
    return found


class OneCore:
    """Which core the threads of this process are on. There is one in a process."""

    def __init__(self) -> None:
        self.core: int | None = None
        self.free = frozenset(os.sched_getaffinity(0))
        """The cores that this process may use."""
        self._measured = self._measure()

    def choose(self) -> None:
        """Move every thread to the core that is freest, if that is worth it.

        Raises:
            OSError, ValueError: the kernel allows no such choice, or does not tell what cores do.
        """
        have = frozenset(os.sched_getaffinity(0))
        if have != {self.core}:  # at first, and where the administrator or a cpuset changed it
            self.core, self.free = None, have
        before, self._measured = self._measured, self._measure()
        (at, own, busy), (at_before, own_before, busy_before) = self._measured, before
        known = self.free & busy.keys() & busy_before.keys()
        passed = at - at_before
        shares = {core: (busy[core] - busy_before[core]) / passed for core in known}
        if len(shares) <= 1:
            return
        chosen = better_core(self.core, shares, (own - own_before) / passed)
        if chosen is not None:
            self.bind({chosen})
            self.core = chosen
            log.debug("core_chosen", core=chosen)

    @staticmethod
    def bind(cores: set[int] | frozenset[int]) -> None:
        """Bind every thread; one that begins meanwhile gets what the thread has that begins it."""
        bound: set[str] = set()
        while fresh := {task.name for task in _TASKS.iterdir()} - bound:
            for task in fresh:
                with contextlib.suppress(ProcessLookupError):  # it has ended
                    os.sched_setaffinity(int(task), cores)
            bound |= fresh

    @staticmethod
    def _measure() -> tuple[float, float, dict[int, float]]:
        return time.monotonic(), time.process_time(), busy_seconds(_STAT.read_text())


_chosen: OneCore | None = None


def on_one_core() -> AbstractContextManager[None]:
    """Keep this process on one core meanwhile, where the system lets it choose."""
    return meanwhile("one-core", _keep_choosing)


def _keep_choosing(stopped: threading.Event) -> None:
    global _chosen  # noqa: PLW0603 a process has one set of cores
    chosen = None
    try:
        _chosen = chosen = OneCore()
        while not stopped.wait(EVERY_SECONDS * (0.75 + dice() / 2)):
            chosen.choose()
    except (OSError, ValueError, AttributeError) as problem:  # another system, or not allowed
        log.info("no_core_chosen", problem=str(problem))
    finally:
        _chosen = None
        if chosen is not None:
            with contextlib.suppress(OSError):
                chosen.bind(chosen.free)


@contextlib.contextmanager
def on_any_core() -> Iterator[None]:
    """Let a process that is started herein use every core, and not the chosen one alone."""
    if (chosen := _chosen) is None:
        yield
        return
    kept = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, chosen.free)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, kept)
