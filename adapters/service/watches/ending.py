"""Ends watches when the service stops."""

import threading
from collections.abc import Iterable

from jobledger.adapters.process.threads import join_all
from jobledger.core.ports.cluster import Subscription

STOP_SECONDS_MAX = 5.0
"""How long all watches together are waited for: more is to be done within the grace of a Pod."""


def end_all(subscriptions: Iterable[Subscription]) -> None:
    """End watches at once: each that waits for an answer takes its time to end."""
    ending: list[threading.Thread] = []
    for one in subscriptions:
        thread = threading.Thread(target=one.stop, name="end-watch", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # there are too many threads
            one.stop()
        else:
            ending.append(thread)
    join_all(ending, STOP_SECONDS_MAX)
