"""Prometheus' own tool for rules and Grafana's types of dashboards, or why they are not here."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from tests.apiserver.build import CannotBuild, build_module, cache_of

GRAFANA = Path(__file__).with_name("grafana")


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


@pytest.fixture(scope="session")
def grafana() -> Path:
    """The program that reads dashboards; built once (some ten seconds), skip without Go."""
    source = hashlib.sha256((GRAFANA / "main.go").read_bytes()).hexdigest()[:8]
    folder = cache_of(GRAFANA, "grafana", os.environ) / source
    try:
        build_module(GRAFANA, {"dashboards": "."}, folder, os.environ)
    except CannotBuild as problem:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(problem))
    return folder / "dashboards"
