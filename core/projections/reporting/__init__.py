"""Reporting facts of one job, computed from its events, one table per file."""
