"""What can be made to go wrong, on purpose: the switches a real API server does not have.

Every method may be called from any thread while the server runs.
"""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Damage = Literal["answer", "silence", "cut", "delay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens to one request."""

    damage: Damage
    code: int = 0
    retry_after_seconds: int | None = None
    after_commit: bool = False
    """Whether the request is carried out before its answer is lost."""
    delay_seconds: float = 0.0


@dataclass(slots=True)
class _Rule:
    method: str
    prefix: str
    left: int
    fault: Fault


class Faults:
    """Faults that wait for requests and watches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[_Rule] = []
        self._wakers: set[Callable[[], None]] = set()
        self._held = False
        self._repeats = 0
        self._expiring = 0
        self._drops = 0
        self._expiries = 0

    def answer(
        self,
        method: str,
        prefix: str,
        code: int,
        *,
        times: int = 1,
        retry_after_seconds: int | None = None,
    ) -> None:
        """Answer the next matching requests with an error and do not carry them out.

        Args:
            method: The HTTP method, or `*`.
            prefix: How the path begins.
            code: 429, 500, 503, …
            times: How many requests.
            retry_after_seconds: The Retry-After header, if any.
        """
        fault = Fault(damage="answer", code=code, retry_after_seconds=retry_after_seconds)
        self._add(method, prefix, times, fault)

    def delay(self, method: str, prefix: str, seconds: float, *, times: int = 1) -> None:
        """Let the next matching requests wait before they are carried out."""
        self._add(method, prefix, times, Fault(damage="delay", delay_seconds=seconds))

    def time_out(
        self, method: str, prefix: str, *, times: int = 1, after_commit: bool = True
    ) -> None:
        """Never answer the next matching requests; by default they are carried out all the same."""
        self._add(method, prefix, times, Fault(damage="silence", after_commit=after_commit))

    def cut(self, method: str, prefix: str, *, times: int = 1, after_commit: bool = True) -> None:
        """Cut the connection instead of answering; by default after carrying the request out."""
        self._add(method, prefix, times, Fault(damage="cut", after_commit=after_commit))

    def expire_watches(self) -> None:
        """End every open watch with an ERROR event of code 410."""
        with self._lock:
            self._expiries += 1
        self._wake()

    def refuse_watches(self, times: int = 1) -> None:
        """Answer the next watches that name a resourceVersion with an ERROR event of code 410."""
        with self._lock:
            self._expiring += times

    def drop_watches(self) -> None:
        """Cut the connection of every open watch."""
        with self._lock:
            self._drops += 1
        self._wake()

    def hold_watches(self) -> None:
        """Deliver no watch event until `release_watches`: they come late."""
        with self._lock:
            self._held = True

    def release_watches(self) -> None:
        """Deliver what was held back, and go on."""
        with self._lock:
            self._held = False
        self._wake()

    def repeat_events(self, times: int = 1) -> None:
        """Deliver the next watch events twice each."""
        with self._lock:
            self._repeats += times

    def clear(self) -> None:
        """Forget every fault that has not happened yet."""
        with self._lock:
            self._rules.clear()
            self._held, self._repeats, self._expiring = False, 0, 0
        self._wake()

    def take(self, method: str, path: str) -> Fault | None:
        """Return what happens to a request, and count it."""
        with self._lock:
            for rule in self._rules:
                if rule.method in ("*", method) and path.startswith(rule.prefix):
                    rule.left -= 1
                    if not rule.left:
                        self._rules.remove(rule)
                    return rule.fault
        return None

    def take_expiry(self) -> bool:
        """Return whether a watch that begins now is refused, and count it."""
        with self._lock:
            refused = self._expiring > 0
            self._expiring -= refused
            return refused

    def take_repeat(self) -> bool:
        """Return whether the next event is delivered twice, and count it."""
        with self._lock:
            repeated = self._repeats > 0
            self._repeats -= repeated
            return repeated

    @property
    def held(self) -> bool:
        """Return whether watch events are held back."""
        return self._held

    @property
    def interruptions(self) -> tuple[int, int]:
        """Return how often watches were dropped and expired: a watch ends when its own differ."""
        return self._drops, self._expiries

    def listen(self, event: asyncio.Event) -> Callable[[], None]:
        """Set `event` (of the running loop) at each switch; return how to stop that."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(event.set)

        with self._lock:
            self._wakers.add(wake)
        return lambda: self._wakers.discard(wake)

    def _add(self, method: str, prefix: str, times: int, fault: Fault) -> None:
        with self._lock:
            self._rules.append(_Rule(method, prefix, times, fault))

    def _wake(self) -> None:
        for wake in tuple(self._wakers):
            wake()
