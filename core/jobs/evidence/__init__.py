"""Evidence: what is kept of an attempt before its objects disappear."""
