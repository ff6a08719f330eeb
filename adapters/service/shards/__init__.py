"""The shards that this replica holds, and how long it trusts its leases."""
