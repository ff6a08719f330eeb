"""HTTP servers: health, metrics and the read API."""
