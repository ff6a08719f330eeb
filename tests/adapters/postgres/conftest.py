"""Fixtures of the tests of the ledger in Postgres."""

from tests.adapters.postgres.notary import notary
from tests.support.reported import reported_reading_url, reported_template, reported_url, unreported

__all__ = ["notary", "reported_reading_url", "reported_template", "reported_url", "unreported"]
