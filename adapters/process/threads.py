"""Waits for threads that end."""

import threading
import time
from collections.abc import Iterable


def join_all(threads: Iterable[threading.Thread], seconds: float) -> None:
    """Wait until all that were started have ended, for so many seconds in all."""
    until = time.monotonic() + seconds
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(0.0, until - time.monotonic()))
