"""Log lines about what goes on being wrong: told at once, and then once a minute.

What is tried again every second would fill the log otherwise, and hide what else it says.
"""

import threading
from collections.abc import Callable, Mapping

from structlog.stdlib import BoundLogger

AGAIN_SECONDS = 60.0
"""Between two lines that say the same."""

_TEXTS_MAX = 32
"""Texts that are remembered; what says something new each time is told each time."""


class Repeated:
    """Warns under one event name; safe for many threads."""

    def __init__(self, log: BoundLogger, event: str, monotonic: Callable[[], float]) -> None:
        self._log, self._event, self._monotonic = log, event, monotonic
        self._lock = threading.Lock()
        self._told: dict[str, float] = {}
        """What was said -> when."""
        self._untold = 0

    def warn(self, error: object, **fields: object) -> None:
        """Say that something failed, unless that was said a moment ago."""
        self._warn(f"{error} {fields}" if fields else str(error), error, fields)

    def warn_of_one(self, error: Exception, words: str = "", **fields: object) -> None:
        """Say which of many things failed first; the others that fail alike are counted.

        For errors that tell of whom was asked (it cannot be reached), and not of what for. `words`
        stand in place of those of the error, where these must not be shown.
        """
        self._warn(type(error).__name__, words or error, fields)

    def _warn(self, text: str, error: object, fields: Mapping[str, object]) -> None:
        now = self._monotonic()
        with self._lock:
            self._told = {key: at for key, at in self._told.items() if now - at < AGAIN_SECONDS}
            if text in self._told:
                self._untold += 1
                return
            if len(self._told) < _TEXTS_MAX:
                self._told[text] = now
            untold, self._untold = self._untold, 0
        more = {"times_untold": untold} if untold else {}
        self._log.warning(self._event, error=str(error), **fields, **more)

    def over(self) -> None:
        """Hear that it went well: the next failure is told at once."""
        if self._told:
            with self._lock:
                self._told, self._untold = {}, 0
