"""Other ledgers at the same jobs, and a ledger that was set back."""
