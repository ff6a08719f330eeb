"""Checks of `jobledger doctor` against the API server, one function per question."""
