"""The pool of threads that carry out effects, with two queues per job.

Of each queue at most one task runs at a time, in the order of asking; a task that is to be tried
again waits aside and lets the others pass. So a poisoned job holds up nobody, and no two tasks of a
job write the same object at once. A queue that was begun goes on before the next is begun: of ten
thousand new jobs the first has its status before the last has its finalizer. After some tasks in a
row it waits behind the others: a job that never runs out of tasks keeps no thread from them.

Namespaces take turns at beginning a queue: a tenant with many jobs keeps no thread from another.
Nor does one whose tasks hang: a namespace holds at most three times as many threads as it leaves.
"""

import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Collection
from enum import Enum, auto
from typing import TypeAlias

from jobledger.adapters.service.work.thread_pool import ThreadPool
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.ports.clock import Clock
from jobledger.core.values.ids import StreamId, shard_of

log = get_logger(__name__)

IN_A_ROW_MAX = 8
"""So many tasks of a queue are carried out before the next queue has its turn."""

BROKEN_PAUSE_SECONDS = 30.0
"""Pause after a bug in a task that nobody else begins again."""

Task = Callable[[], float | None]
"""Does one piece of work.

Returns the seconds after which it is to be tried again, or None if it is over.
"""


def lasting(stream: StreamId, task: Task) -> float | None:
    """Carry out a task of a job that nobody begins anew; after a bug it is tried again later.

    Its owner takes it for under way until it says that it is over.
    """
    try:
        return task()
    except Exception:
        log.exception("task_failed", stream=str(stream), again_in_seconds=BROKEN_PAUSE_SECONDS)
        return BROKEN_PAUSE_SECONDS


class Lane(Enum):
    """Which queue of a job a task waits in; they do not wait for each other."""

    OWN = auto()
    """What is written to the job's own object: its finalizer, its status."""
    OTHERS = auto()
    """What is done to other objects, and asked of others."""


_Key: TypeAlias = "tuple[StreamId, Lane]"


class Workers(ThreadPool[_Key, tuple[_Key, Task]]):
    """The pool. `submit` may be called from any thread, also from a task."""

    def __init__(
        self, clock: Clock, threads: int, namespace_of: Callable[[StreamId], str] = lambda _: ""
    ) -> None:
        """`namespace_of` tells it of a job that is known; empty: of one that is not."""
        super().__init__(clock, threads, "worker")
        self._namespace_of = namespace_of
        self._queues: dict[_Key, deque[Task]] = {}
        self._busy: set[_Key] = set()
        self._namespaces: dict[_Key, str] = {}
        """Of each queue: the namespace under which it waits."""
        self._in_a_row: dict[_Key, int] = {}
        self._later: list[tuple[float, int, _Key, str, Task]] = []
        self._ordinals = itertools.count()

    def submit(self, stream: StreamId, task: Task, lane: Lane = Lane.OTHERS) -> None:
        """Add a task behind those of the same job in the same lane."""
        with self._lock:
            if self._enqueue((stream, lane), task, self._namespace_of(stream)):
                self._timekeeper.wake()

    def is_busy(self, shards: Collection[int]) -> bool:
        """Return whether a task of a job of these shards is running."""
        with self._lock:
            return any(shard_of(stream) in shards for stream, _ in self._busy)

    def is_behind(self) -> bool:
        """Return whether more queues wait for a thread than there are threads."""
        return len(self._ready) > self._count

    def __len__(self) -> int:
        with self._lock:
            waiting = sum(len(queue) for queue in self._queues.values())
            return waiting + len(self._later) + len(self._busy)

    def _enqueue(self, key: _Key, task: Task, namespace: str) -> bool:
        """Add a task to its queue; return whether that is now ready for a thread."""
        queue = self._queues.setdefault(key, deque())
        queue.append(task)
        namespace = self._namespaces.setdefault(key, namespace)
        if len(queue) > 1 or key in self._busy:
            return False
        self._ready.append(namespace, key)
        return True

    def _do(self, taken: tuple[_Key, Task]) -> None:
        key, task = taken
        again = self._carry_out(key, task)
        self._release(key, task, again)

    def _take(self) -> tuple[_Key, Task] | None:
        self._bring_back()
        taken = self._ready.pop(self._shares.may) if self._open else None
        if taken is None:
            return None
        namespace, key = taken
        self._busy.add(key)
        self._shares.take(namespace)
        return key, self._queues[key].popleft()

    def _bring_back(self) -> None:
        if not self._later:
            return
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now:
            _, _, key, namespace, task = heapq.heappop(self._later)
            self._enqueue(key, task, namespace)

    def _next_instant(self) -> float:
        return self._later[0][0] if self._later else math.inf

    def _carry_out(self, key: _Key, task: Task) -> float | None:
        try:
            return task()
        except (
            Exception
        ):  # a task answers for its own errors; what gets here is a bug, and kept visible
            log.exception("task_failed", stream=str(key[0]))
            return None

    def _release(self, key: _Key, task: Task, again: float | None) -> None:
        with self._lock:
            self._busy.discard(key)
            self._shares.give_back(self._namespaces[key])
            if again is not None:
                at = self._clock.monotonic() + again
                later = (at, next(self._ordinals), key, self._namespaces[key], task)
                heapq.heappush(self._later, later)  # this thread waits for it, or has another wait
            if self._queues.get(key):
                self._go_on(key)  # and this thread takes it, or wakes who does
            else:
                self._queues.pop(key, None)
                self._namespaces.pop(key, None)
                self._in_a_row.pop(key, None)

    def _go_on(self, key: _Key) -> None:
        carried_out = self._in_a_row.get(key, 0) + 1
        if carried_out < IN_A_ROW_MAX:
            self._in_a_row[key] = carried_out
            self._ready.append_left(self._namespaces[key], key)
            self._ready.is_next(self._namespaces[key])
        else:
            self._in_a_row.pop(key, None)
            self._ready.append(self._namespaces[key], key)
