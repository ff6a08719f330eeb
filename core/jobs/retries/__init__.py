"""Whether a failed attempt is retried, and when."""
