"""Which shards this replica holds, and how far it trusts its leases."""
