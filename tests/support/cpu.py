"""A limit on the CPU that something takes: a busy machine changes nothing about it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def limited_cpu(seconds: float) -> Iterator[None]:
    """Fail where the process needs more seconds of CPU than this; for the main thread.

    It is a guard against what reads again and again, and takes many times as long.
    """

    def is_over(*_: object) -> None:
        pytest.fail(f"more than {seconds} s of CPU")

    before = signal.signal(signal.SIGVTALRM, is_over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
