"""Jobs that have left the log, and bundles of other ledgers."""
