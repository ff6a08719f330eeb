"""Fixtures for all tests."""

import pytest
from hypothesis import settings

from tests.support.apiserver import api_server, jobset_server
from tests.support.ledgers import empty_ledger, engine, ledger, ledger_template, ledger_url
from tests.support.postgres import database_url, postgres_server
from tests.support.sample_ledger import sample_engine, sample_url

settings.register_profile("the same examples each time", derandomize=True, database=None)
settings.load_profile("the same examples each time")
# failing rows, rules and stories explain themselves
pytest.register_assert_rewrite(
    "tests.support.rows",
    "tests.contracts.jobsets_admission",
    "tests.contracts.jobsets_ending",
    "tests.contracts.jobsets_parts",
    "tests.contracts.jobsets_starting",
    "tests.acceptance.trainjob_stories",
)

__all__ = [
    "api_server",
    "database_url",
    "empty_ledger",
    "engine",
    "jobset_server",
    "ledger",
    "ledger_template",
    "ledger_url",
    "postgres_server",
    "sample_engine",
    "sample_url",
]
