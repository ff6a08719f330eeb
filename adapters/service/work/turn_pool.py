"""A pool of threads in which namespaces take turns, and none of them holds all threads."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from jobledger.adapters.service.work.rotation import Rotation
from jobledger.adapters.service.work.thread_shares import ThreadShares

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Call(Generic[Result]):
    """What is to be called, and where its result goes."""

    call: Callable[[], Result]
    future: Future[Result]

    def __call__(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self.call())
        except BaseException as error:  # noqa: BLE001 whoever waits for the result has it
            self.future.set_exception(error)


class TurnPool(Generic[Result]):
    """The pool. Safe from any thread; a thread is started when there is something for it."""

    def __init__(self, threads: int, name: str) -> None:
        """Take how many threads there may be, and what their names begin with."""
        self._threads, self._name = threads, name
        self._changed = threading.Condition()
        self._waiting: Rotation[_Call[Result]] = Rotation()
        self._shares = ThreadShares(threads)
        self._started = 0
        self._idle = 0
        self._stopping = False

    def submit(self, namespace: str, call: Callable[[], Result]) -> Future[Result]:
        """Have something called at its namespace's turn; after `stop` it is cancelled."""
        future: Future[Result] = Future()
        with self._changed:
            if self._stopping:
                future.cancel()
                return future
            self._waiting.append(namespace, _Call(call, future))
            if self._idle < len(self._waiting) and self._started < self._threads:
                self._start_one()
            self._changed.notify()
        return future

    def stop(self) -> None:
        """Cancel what waits; what is under way is left to its own limits."""
        with self._changed:
            self._stopping = True
            while (taken := self._waiting.pop()) is not None:
                taken[1].future.cancel()
            self._changed.notify_all()

    def _start_one(self) -> None:
        name = f"{self._name}-{self._started + 1}"
        try:
            threading.Thread(target=self._run, name=name, daemon=True).start()
        except RuntimeError:  # there are too many; the next call has it tried again
            return
        self._started += 1

    def _run(self) -> None:
        while (taken := self._next()) is not None:
            namespace, call = taken
            call()
            with self._changed:
                self._shares.give_back(namespace)

    def _next(self) -> tuple[str, _Call[Result]] | None:
        with self._changed:
            while not self._stopping:
                if (taken := self._waiting.pop(self._shares.may)) is not None:
                    self._shares.take(taken[0])
                    if self._waiting.first(self._shares.may) is not None:
                        self._changed.notify()  # it may have waited for a thread of its share
                    return taken
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            return None
