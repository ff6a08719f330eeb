"""How long a status waits to go out with the next one.

Only mere progress within a phase does, and the end of a Ray job for a moment; what says that a
phase has changed goes out at once.
"""

from dataclasses import dataclass

from jobledger.adapters.service.status.shown import PROGRESS
from jobledger.core.values.documents import Json, Manifest, text

PROGRESS_DELAY_SECONDS = 1.0
"""How long mere progress within a phase waits to go out with another change."""
ENDED_DELAY_SECONDS = 0.2
"""How long the end of a Ray job does: its submitter mostly ends with it, and the phase follows."""
BEHIND_DELAY_SECONDS = 4.0
"""How much longer mere progress waits at most while other work waits for the workers: the change
of phase that it would go out with is among that."""
BEHIND_LOOK_SECONDS = 0.5
"""How long it waits each time."""


@dataclass(slots=True)
class Company:
    """What the newest status of a job waits for."""

    offered: Manifest | None = None
    """The newest status that was offered."""
    not_before: float = 0.0
    """Monotonic instant before which it need not be written; 0: at once."""
    is_progress: bool = False
    """Whether it is mere progress, and not the end of the Ray job."""

    def offer(self, status: Manifest, now: float, *, is_awaited: bool) -> None:
        """Take note of a newer status; `is_awaited`: one before it is still to be written."""
        has_ended = _has_ended(status)
        until = now + (ENDED_DELAY_SECONDS if has_ended else PROGRESS_DELAY_SECONDS)
        is_news = self.offered is None or without_progress(self.offered) != without_progress(status)
        if is_news:
            self.not_before = 0.0
        else:
            self.not_before = min(self.not_before, until) if is_awaited else until
        self.is_progress = not is_news and not has_ended
        self.offered = status

    def put_off(self, until: float) -> None:
        """Let the status that was offered last be written again, at that instant."""
        self.not_before, self.is_progress = until, False

    def early(self, now: float, *, is_behind: bool) -> float:
        """Return for how many seconds it may still wait.

        Args:
            now: Monotonic seconds.
            is_behind: Whether other work waits for the workers.
        """
        if now < self.not_before:
            return self.not_before - now
        longest = self.not_before + BEHIND_DELAY_SECONDS
        may_wait = self.not_before > 0 and self.is_progress and is_behind
        return BEHIND_LOOK_SECONDS if may_wait and now < longest else 0.0


def without_progress(status: Manifest) -> dict[str, Json]:
    """Return what users must see at once."""
    return {key: value for key, value in status.items() if key not in PROGRESS}


def _has_ended(status: Manifest) -> bool:
    return text(status, "jobStatus") not in ("", "PENDING", "RUNNING")
