"""Wait for a condition with a named limit; no test sleeps for its own sake."""

import time
from collections.abc import Callable

LIMIT_SECONDS = 90.0
"""Generous: the machine may be busy. A test that passes never waits this long."""

FIRST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 0.2
SHARE_OF_THE_WAIT = 0.05
"""What is waited for long is asked for less often: to ask costs those who are to bring it about.

A wait becomes longer by this share at most.
"""


def pause(waited_seconds: float) -> None:
    """Sleep until it is worth it to look again at what was waited for so long."""
    wanted = max(FIRST_PAUSE_SECONDS, waited_seconds * SHARE_OF_THE_WAIT)
    time.sleep(min(wanted, LONGEST_PAUSE_SECONDS))


def wait_until(condition: Callable[[], bool], what: str, seconds: float = LIMIT_SECONDS) -> None:
    """Return as soon as the condition holds; fail naming `what` after the limit."""
    begun = time.monotonic()
    while not condition():
        waited = time.monotonic() - begun
        if waited >= seconds:
            raise AssertionError(f"after {seconds:.0f} s still not: {what}")
        pause(waited)
