"""Port: early hints that a Ray job has ended, before the next poll."""

from collections.abc import Callable
from typing import Protocol


class Following(Protocol):
    """A job that is followed."""

    def stop(self) -> None:
        """Follow no more; nothing is told after this returns. Calling it twice does no harm."""


class JobEnds(Protocol):
    """Follows Ray jobs. A hint decides nothing: whoever gets one asks the head."""

    def follow(
        self, address: str, submission_id: str, token: str, told: Callable[[], None]
    ) -> Following:
        """Call `told` once, when the job seems to have ended, or can be followed no longer.

        `told` is called from a thread of its own, or from within `follow` if the log ends at once;
        it must return quickly and never raise.

        Raises:
            RayApiError: it cannot be followed now.
        """

    def close(self) -> None:
        """Follow nobody any more, for good. Calling it twice does no harm."""
