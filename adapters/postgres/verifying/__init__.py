"""Whether the database holds what was written."""
