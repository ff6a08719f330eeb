"""What the service sends, taken by a real API server with upstream's definitions."""
