"""Checks of `jobledger doctor` against the database, one function per question."""
