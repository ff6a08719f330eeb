"""Both histories, in memory and in Postgres, keep the contract."""

from tests.contracts.history import HistoryContract


class TestHistory(HistoryContract):
    """An implementation tells what happened as the port says."""
