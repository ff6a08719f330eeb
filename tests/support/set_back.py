"""A ledger in memory that is set back to what it was, as by a replica without the last events."""

import copy
from collections.abc import Callable

from tests.support.memory.event_store import MemoryEventStore
from tests.support.memory.leases import MemoryLeases


def kept(store: MemoryEventStore, leases: MemoryLeases) -> Callable[[], None]:
    """Return what sets a ledger back to what it is now: log, rows and leases."""
    names = ("_log", "_streams")
    with store.lock:
        log = {name: copy.deepcopy(getattr(store, name)) for name in names}
        rows, held = copy.deepcopy(vars(store.rows)), dict(leases.current())

    def set_back() -> None:
        with store.lock:
            for name, value in copy.deepcopy(log).items():
                setattr(store, name, value)
            vars(store.rows).update(copy.deepcopy(rows))
            leases._leases = dict(held)  # noqa: SLF001 as they were

    return set_back
