"""Prometheus' own tool for rules, or why there is none."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def promtool() -> str:
    """The program; skip without it, in CI fail."""
    found = shutil.which("promtool")
    if found is not None:
        return found
    missing = "no promtool: install the package prometheus"
    if os.environ.get("CI") and os.environ.get("JOBLEDGER_NEEDS_APISERVER") == "1":
        pytest.fail(missing)
    pytest.skip(missing)
