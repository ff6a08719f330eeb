"""Tells whether the API server answers at all, and takes who we are.

An open watch goes on for minutes after credentials were revoked, while every request is refused.
"""

from collections.abc import Callable

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated

UNANSWERED_SECONDS = 15.0
"""So long every request must have failed: tokens are renewed, and servers started anew, in less.
The clocks are compared every ten seconds, so that there is a request."""

log = get_logger(__name__)


class Answering:
    """Hears how each request ended. Safe for many threads."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Take the clock that measures how long nothing was answered."""
        self._monotonic = monotonic
        self._told = Repeated(log, "api_server_unavailable", monotonic)
        self.is_told = False
        """Whether log lines tell of it; a command tells its user by itself."""
        self._missing: tuple[float, str] | None = None
        """When the first request failed since the last answer, and why."""

    def came(self) -> None:
        """Hear of an answer, whatever it says of the object that was asked for."""
        if self._missing is not None:
            if self.is_told and self.trouble():
                log.info("api_server_available")
            self._missing = None
            self._told.over()

    def missed(self, error: Exception) -> None:
        """Hear that none came, or one that refused who we are."""
        if self._missing is None:
            self._missing = self._monotonic(), str(error)
        if self.is_told and (trouble := self.trouble()):
            self._told.warn(trouble)

    def trouble(self) -> str:
        """Return why no request has been answered for a while; empty if one has."""
        missing = self._missing
        if missing is None or self._monotonic() - missing[0] < UNANSWERED_SECONDS:
            return ""
        return missing[1]
