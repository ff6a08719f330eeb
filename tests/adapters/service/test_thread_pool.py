"""One of many waiting threads looks at the clock, and no instant is missed."""

import heapq
import math
import random
import threading
import time
from dataclasses import dataclass, field

from jobledger.adapters.service.work.thread_pool import Timekeeper
from tests.support.waiting import wait_until

THREADS = 6


@dataclass
class EffectContext:
    """Threads that take what is due, as the workers and the polls do."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    due: list[float] = field(default_factory=list)
    done: list[float] = field(default_factory=list)
    woken: int = 0
    waiting: int = 0
    is_over: bool = False

    def __post_init__(self) -> None:
        self.timekeeper = Timekeeper(self.lock)
        self.threads = [threading.Thread(target=self._run) for _ in range(THREADS)]
        for thread in self.threads:
            thread.start()

    def add(self, instant: float) -> None:
        with self.lock:
            heapq.heappush(self.due, instant)
            self.timekeeper.wake()

    def end(self) -> None:
        with self.lock:
            self.is_over = True
            self.timekeeper.wake_all()
        for thread in self.threads:
            thread.join(30)

    def _run(self) -> None:
        while self._take():
            pass

    def _take(self) -> bool:
        with self.lock:
            while not self.is_over:
                if self.due and self.due[0] <= time.monotonic():
                    self.done.append(heapq.heappop(self.due))
                    if self._next() <= time.monotonic():
                        self.timekeeper.wake()
                    self.timekeeper.leave(self._next())
                    return True
                self.waiting += 1
                self.timekeeper.wait(self._next(), time.monotonic())
                self.waiting -= 1
                self.woken += 1
            return False

    def _next(self) -> float:
        return self.due[0] if self.due else math.inf


def test_whatever_is_due_is_taken_in_whichever_order_it_comes() -> None:
    context, dice = EffectContext(), random.Random(7)
    now = time.monotonic()
    instants = [now + dice.random() * 0.3 for _ in range(200)]
    for instant in instants:
        context.add(instant)
    wait_until(lambda: len(context.done) == len(instants), "all to be taken")
    context.end()
    assert sorted(context.done) == sorted(instants)


def test_an_earlier_instant_is_not_slept_through() -> None:
    context = EffectContext()
    context.add(time.monotonic() + 3600)
    context.add(time.monotonic() + 0.01)
    wait_until(lambda: len(context.done) == 1, "the earlier one to be taken")
    context.end()


def test_not_all_wake_for_one() -> None:
    context = EffectContext()
    for _ in range(20):
        seen = len(context.done)
        context.add(time.monotonic() + 0.01)
        wait_until(lambda seen=seen: len(context.done) > seen, "it to be taken")  # type: ignore[misc]  # mypy cannot infer a lambda with a default
    woken = context.woken
    context.end()
    assert woken <= 20 * 3, "one is told of it, and one or two look at the clock"


def test_work_wakes_one_and_leaves_who_watches_the_clock() -> None:
    context = EffectContext()
    wait_until(lambda: context.waiting == THREADS, "all to wait")
    context.add(time.monotonic() + 3600)
    wait_until(lambda: context.woken == 1, "one to watch the clock")  # else it takes the first too
    for count in range(1, 21):
        wait_until(lambda: context.waiting == THREADS, "all to wait")
        context.add(time.monotonic())
        wait_until(lambda count=count: len(context.done) == count, "it to be taken")  # type: ignore[misc]  # mypy cannot infer a lambda with a default
    woken = context.woken
    context.end()
    assert woken == 1 + 20, "who watches the clock, and who takes it"
