"""What only the ledger in Postgres does."""
