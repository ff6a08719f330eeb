"""Who carries out: a pool of threads over one queue per job.

Of one job at most one task runs at a time, in the order of asking; a task that is to be tried
again waits aside and
lets the others pass. So a poisoned job holds up nobody, and nothing of a job runs beside itself.
"""

import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable

from adapters.telemetry.logging import get_logger
from core.ports.clock import Clock
from core.values.ids import StreamId

log = get_logger(__name__)

Task = Callable[[], float | None]
"""Does one piece of work.

Returns the seconds after which it is to be tried again, or None if it is over.
"""


class Workers:
    """The pool. `submit` may be called from any thread, also from a task."""

    def __init__(self, clock: Clock, threads: int) -> None:
        self._clock = clock
        self._count = threads
        self._changed = threading.Condition()
        self._queues: dict[StreamId, deque[Task]] = {}
        self._busy: set[StreamId] = set()
        self._ready: deque[StreamId] = deque()
        self._later: list[tuple[float, int, StreamId, Task]] = []
        self._ordinals = itertools.count()
        self._open = False
        self._stopping = False
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the threads, once; nothing is carried out before `open_gate`."""
        with self._changed:
            if self._threads or self._stopping:
                return
            for number in range(self._count):
                thread = threading.Thread(target=self._run, name=f"worker-{number}", daemon=True)
                thread.start()
                self._threads.append(thread)

    def open_gate(self) -> None:
        """Begin to carry out what was and will be asked for."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def submit(self, stream: StreamId, task: Task) -> None:
        """Add a task behind those of the same job."""
        with self._changed:
            self._enqueue(stream, task)
            self._changed.notify()

    def stop(self, timeout_seconds: float = 10.0) -> None:
        """Let running tasks end and drop the others (what they were asked for is in the log)."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            threads = list(self._threads)
        for thread in threads:
            thread.join(timeout_seconds)

    def run_once(self) -> bool:
        """Carry out one task that is ready now; return whether there was one."""
        with self._changed:
            taken = self._take()
        if taken is not None:
            self._do(*taken)
        return taken is not None

    def __len__(self) -> int:
        with self._changed:
            waiting = sum(len(queue) for queue in self._queues.values())
            return waiting + len(self._later) + len(self._busy)

    def _enqueue(self, stream: StreamId, task: Task) -> None:
        queue = self._queues.setdefault(stream, deque())
        queue.append(task)
        if len(queue) == 1 and stream not in self._busy:
            self._ready.append(stream)

    def _run(self) -> None:
        while (taken := self._next()) is not None:
            self._do(*taken)

    def _do(self, stream: StreamId, task: Task) -> None:
        again = self._carry_out(stream, task)
        self._release(stream, task, again)

    def _next(self) -> tuple[StreamId, Task] | None:
        with self._changed:
            while not self._stopping:
                if (taken := self._take()) is not None:
                    return taken
                self._changed.wait(self._until_next())
            return None

    def _take(self) -> tuple[StreamId, Task] | None:
        self._bring_back()
        if not self._open or not self._ready:
            return None
        stream = self._ready.popleft()
        self._busy.add(stream)
        return stream, self._queues[stream].popleft()

    def _bring_back(self) -> None:
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now:
            _, _, stream, task = heapq.heappop(self._later)
            self._enqueue(stream, task)

    def _until_next(self) -> float | None:
        if not self._later:
            return None
        return max(0.0, self._later[0][0] - self._clock.monotonic())

    def _carry_out(self, stream: StreamId, task: Task) -> float | None:
        try:
            return task()
        except (
            Exception
        ):  # a task answers for its own errors; what gets here is a bug, and kept visible
            log.exception("task_failed", stream=str(stream))
            return None

    def _release(self, stream: StreamId, task: Task, again: float | None) -> None:
        with self._changed:
            self._busy.discard(stream)
            if again is not None:
                at = self._clock.monotonic() + again
                heapq.heappush(self._later, (at, next(self._ordinals), stream, task))
                self._changed.notify()
            if self._queues.get(stream):
                self._ready.append(stream)
                self._changed.notify()
            else:
                self._queues.pop(stream, None)
