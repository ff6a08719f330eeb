"""Fixtures for all tests."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.explore import EXAMPLES_VARIABLE
from tests.support.apiserver import api_server, jobset_server
from tests.support.ledgers import empty_ledger, engine, ledger, ledger_template, ledger_url
from tests.support.postgres import database_url, postgres_server
from tests.support.sample_ledger import sample_engine, sample_url

settings.register_profile(
    "the same examples each time",
    derandomize=True,
    database=None,
    deadline=None,  # the machine is shared; the suite has a limit of its own
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("the same examples each time")
if EXAMPLES_VARIABLE not in os.environ:
    # Hypothesis draws constants of all modules that happen to be loaded: other ones in each run.
    providers._get_local_constants = lambda: providers._local_constants  # noqa: SLF001 no setting for it
# failing rows, rules and stories explain themselves
pytest.register_assert_rewrite(
    "tests.support.rows",
    "tests.contracts.jobsets_admission",
    "tests.contracts.jobsets_ending",
    "tests.contracts.jobsets_parts",
    "tests.contracts.jobsets_starting",
    "tests.acceptance.trainjob_stories",
)

LONGEST = "tests/crash_points/"
"""The folder of the one test that takes minutes: begun last, it would keep all others waiting."""

ALLOCATIONS_BEFORE_A_LOOK = 20_000
"""Containers between two runs of the garbage collector's youngest generation; Python's own: 700."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Have the garbage collector look at nothing of what stays to the end: modules and tests.

    Half a million objects, which it would walk again and again in each worker.
    """
    del session
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(ALLOCATIONS_BEFORE_A_LOOK)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the longest test begin first."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


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
