"""One thread that runs reconciles: each key when it is due, failures later and later."""

import heapq
import threading
import time
from typing import Protocol, TypeAlias

import structlog

from jobledger.core.errors import ClusterError

FIRST_RETRY_SECONDS = 0.05
LAST_RETRY_SECONDS = 30.0
"""A failing key is tried again after the first, then twice as long each time up to the last."""

_log = structlog.get_logger("sandbox")


class Reconciler(Protocol):
    """Brings one object closer to what it should be."""

    def reconcile(self, namespace: str, name: str) -> float | None:
        """Do what is missing now; return in how many seconds to look again, None for on change."""


Work: TypeAlias = tuple[Reconciler, str, str]


class ControllerLoop:
    """A queue of keys and the thread that works it off. `add` is safe from every thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._due: dict[Work, float] = {}
        self._heap: list[tuple[float, int, Work]] = []
        self._count = 0
        self._failures: dict[Work, int] = {}
        self._wake = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def add(self, work: Work, after_seconds: float = 0.0) -> None:
        """Have the key reconciled at the latest in `after_seconds`."""
        due = time.monotonic() + after_seconds
        with self._wake:
            if self._stopping or self._due.get(work, float("inf")) <= due:
                return
            self._due[work] = due
            self._count += 1
            heapq.heappush(self._heap, (due, self._count, work))
            self._wake.notify()

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish the reconcile at hand and end the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (work := self._next()) is not None:
            self.run_once(work)

    def run_once(self, work: Work) -> None:
        """Reconcile one key now, and have it looked at again as it asks for."""
        reconciler, namespace, name = work
        try:
            again = reconciler.reconcile(namespace, name)
        except ClusterError as refused:
            self._retry(work, "sandbox_write_refused", refused)
        except Exception as failed:  # noqa: BLE001  # one malformed object must not stop the others
            self._retry(work, "sandbox_reconcile_failed", failed)
        else:
            self._failures.pop(work, None)
            if again is not None:
                self.add(work, again)

    def _retry(self, work: Work, said: str, why: Exception) -> None:
        failures = self._failures.get(work, 0)
        self._failures[work] = failures + 1
        delay = min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** min(failures, 16))
        _log.warning(
            said,
            namespace=work[1],
            name=work[2],
            error=f"{type(why).__name__}: {why}",
            retry_in_seconds=delay,
        )
        self.add(work, delay)

    def _next(self) -> Work | None:
        """Wait for the next key that is due; None when the loop is to end."""
        with self._wake:
            while not self._stopping:
                now = time.monotonic()
                if self._heap and self._heap[0][0] <= now:
                    due, _, work = heapq.heappop(self._heap)
                    if self._due.get(work) == due:
                        del self._due[work]
                        return work
                    continue
                self._wake.wait(self._heap[0][0] - now if self._heap else None)
            return None
