"""Follows the log stream of a running job, to notice its end at once.

Begun after an answer that says RUNNING; given up for a while where it does not work.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from jobledger.core.errors import RayApiError
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.job_ends import Following, JobEnds

PAUSE_FIRST_SECONDS, PAUSE_MAX_SECONDS = 1.0, 300.0
"""Pauses between tries to follow the same job; a stream that lasted makes the first again."""
LASTED_SECONDS = 30.0


@dataclass(slots=True)
class Follower:
    """Follows one job, as well as it goes. Safe for many threads."""

    ends: JobEnds
    clock: Clock
    hinted: Callable[[], None]
    """Called when the job may have ended; from another thread."""
    following: Following | None = None
    begun: float = 0.0
    not_before: float = 0.0
    pause: float = PAUSE_FIRST_SECONDS
    _turn: int = 0
    """Grows when a try begins and when it is over; what tells in an earlier turn tells nothing."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Never held while others are called."""

    def begin(self, address: str, submission_id: str, token: str) -> None:
        """Follow, unless it is followed already or was tried a short while ago. May take time."""
        now = self.clock.monotonic()
        with self._lock:
            if self.following is not None or now < self.not_before:
                return
            self.begun, self.not_before = now, now + self.pause
            self.pause = min(self.pause * 2, PAUSE_MAX_SECONDS)
            self._turn += 1
            turn = self._turn
        try:
            following = self.ends.follow(address, submission_id, token, lambda: self._told(turn))
        except RayApiError:
            return
        with self._lock:
            is_over = self._turn != turn  # the stream may have ended, or be unwanted, by now
            if not is_over:
                self.following = following
        if is_over:
            following.stop()

    @property
    def is_on(self) -> bool:
        """Return whether the job is followed."""
        return self.following is not None

    def stop(self) -> None:
        """Follow no more."""
        with self._lock:
            self._turn += 1
            following, self.following = self.following, None
        if following is not None:
            following.stop()

    def _told(self, turn: int) -> None:
        now = self.clock.monotonic()
        with self._lock:
            if self._turn != turn:
                return
            self._turn += 1
            self.following = None
            if now - self.begun >= LASTED_SECONDS:
                self.pause = PAUSE_FIRST_SECONDS
            self.not_before = now + self.pause
        self.hinted()
