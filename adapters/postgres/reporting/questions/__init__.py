"""The reports, one question per file."""
