"""Wait for a condition with a named limit; no test sleeps for its own sake."""

import time
from collections.abc import Callable

LIMIT_SECONDS = 90.0
"""Generous: the machine may be busy. A test that passes never waits this long."""

POLL_SECONDS = 0.01


def wait_until(condition: Callable[[], bool], what: str, seconds: float = LIMIT_SECONDS) -> None:
    """Return as soon as the condition holds; fail naming `what` after the limit."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= until:
            raise AssertionError(f"after {seconds:.0f} s still not: {what}")
        time.sleep(POLL_SECONDS)
