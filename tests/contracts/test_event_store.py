"""Both event logs, in memory and in Postgres, keep the contract."""

from tests.contracts.event_store import AtomicRowsContract, EventStoreContract
from tests.contracts.event_store_writers import FencingContract, TailContract


class TestEventStore(EventStoreContract):
    """An implementation appends and reads as the port says."""


class TestFencing(FencingContract):
    """An implementation fences as the port says."""


class TestAtomicRows(AtomicRowsContract):
    """An implementation writes rows with events as the port says."""


class TestTail(TailContract):
    """An implementation can be followed as the port says."""
