"""Whether and when a failed attempt is followed by another."""
