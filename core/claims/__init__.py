"""Claims: Leases by which installations with different ledgers notice each other in a cluster."""
