"""Both lists of pending decisions, in memory and in Postgres, keep the contract."""

from tests.contracts.pending import PendingDecisionsContract


class TestPendingDecisions(PendingDecisionsContract):
    """An implementation tells what is due as the port says."""
