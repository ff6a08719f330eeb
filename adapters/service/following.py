"""Following the log of a job that runs, so that its end is noticed at once.

Begun after an answer that says RUNNING; given up for a while where it does not work.
"""

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import RayApiError
from core.ports.clock import Clock
from core.ports.job_ends import Following, JobEnds

PAUSE_FIRST_SECONDS, PAUSE_MAX_SECONDS = 1.0, 300.0
"""Pauses between tries to follow the same job; a stream that lasted makes the first again."""
LASTED_SECONDS = 30.0


@dataclass(slots=True)
class Follower:
    """Follows one job, as well as it goes."""

    ends: JobEnds
    clock: Clock
    hinted: Callable[[], None]
    """Called when the job may have ended; from another thread."""
    following: Following | None = None
    begun: float = 0.0
    not_before: float = 0.0
    pause: float = PAUSE_FIRST_SECONDS

    def begin(self, address: str, submission_id: str, token: str) -> None:
        """Follow, unless it is followed already or was tried a short while ago. May take time."""
        now = self.clock.monotonic()
        if self.following is not None or now < self.not_before:
            return
        self.begun, self.not_before = now, now + self.pause
        self.pause = min(self.pause * 2, PAUSE_MAX_SECONDS)
        try:
            self.following = self.ends.follow(address, submission_id, token, self._told)
        except RayApiError:
            self.following = None

    @property
    def is_on(self) -> bool:
        """Return whether the job is followed."""
        return self.following is not None

    def stop(self) -> None:
        """Follow no more."""
        following, self.following = self.following, None
        if following is not None:
            following.stop()

    def _told(self) -> None:
        self.following = None
        now = self.clock.monotonic()
        if now - self.begun >= LASTED_SECONDS:
            self.pause = PAUSE_FIRST_SECONDS
        self.not_before = now + self.pause
        self.hinted()
