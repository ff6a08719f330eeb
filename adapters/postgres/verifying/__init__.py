"""Verification: checks that the database holds what was written."""
