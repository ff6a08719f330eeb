"""Jobs that fail on the real node, each in its own way, and what the ledger says of them."""
