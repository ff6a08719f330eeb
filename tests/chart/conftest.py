"""Helm, or why there is none."""

import os

import pytest

from tests.apiserver.build import CannotBuild
from tests.chart.helm import program


@pytest.fixture(scope="session", autouse=True)
def helm_is_built() -> None:
    """Skip without Helm; in CI, fail."""
    try:
        program(os.environ)
    except CannotBuild as problem:
        if os.environ.get("CI") and os.environ.get("JOBLEDGER_NEEDS_APISERVER") == "1":
            pytest.fail(str(problem))
        pytest.skip(str(problem))
