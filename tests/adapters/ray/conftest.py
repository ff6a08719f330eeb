"""An adapter that gives up soon, so that hanging heads do not hold the tests."""

from collections.abc import Iterator

import pytest

from jobledger.adapters.ray.job_api import RayJobApi

IMPATIENT_SECONDS = 0.3


@pytest.fixture
def api() -> Iterator[RayJobApi]:
    """With time enough for every answer that comes at all."""
    made = RayJobApi(call_seconds=20.0, log_seconds=20.0, proxies={})
    yield made
    made.close()


@pytest.fixture
def impatient() -> Iterator[RayJobApi]:
    """With little time, for answers that never come."""
    made = RayJobApi(call_seconds=IMPATIENT_SECONDS, log_seconds=IMPATIENT_SECONDS, proxies={})
    yield made
    made.close()
