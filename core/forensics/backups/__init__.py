"""Whether a base backup and the WAL since could bring the ledger back to now."""
