"""Both stores of snapshots, in memory and in Postgres, keep the contract."""

from tests.contracts.snapshots import SnapshotsContract


class TestSnapshots(SnapshotsContract):
    """An implementation keeps snapshots as the port says."""
