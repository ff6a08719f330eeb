"""Commands about the ledger as a whole."""
