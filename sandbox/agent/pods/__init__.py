"""How one Pod runs as processes."""
