"""Both tables of leases, in memory and in Postgres, keep the contract."""

from tests.contracts.leases import LeasesContract


class TestLeases(LeasesContract):
    """An implementation gives leases as the port says."""
