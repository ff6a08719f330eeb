"""Fixtures of the tests of the ledger in Postgres."""

from tests.support.reported import reported_reading_url, reported_template, reported_url, unreported

__all__ = ["reported_reading_url", "reported_template", "reported_url", "unreported"]
