"""Detects other ledgers that control the same jobs, and a ledger that was set back."""
