"""Both lists of replicas, in memory and in Postgres, keep the contract."""

from tests.contracts.replicas import ReplicasContract


class TestReplicas(ReplicasContract):
    """An implementation lists replicas as the port says."""
