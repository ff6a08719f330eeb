"""A sandbox whose RayClusters are real Ray heads on this machine."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.sandbox.wiring import Sandbox, start_sandbox
from tests.acceptance.conftest import bytecode, prepared, site, terminal, witness
from tests.real_ray import real_command

__all__ = ["bytecode", "prepared", "ray_bin", "sandbox", "site", "terminal", "witness"]


@pytest.fixture(scope="session")
def ray_bin() -> Path:
    """The directory with `ray` and its `python`."""
    given = os.environ.get("RAY_BIN", "")
    if not given:
        pytest.skip("needs the `ray` package, in an environment of its own: make test-ray")
    return Path(given).resolve()


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory, ray_bin: Path) -> Iterator[Sandbox]:
    """In place of the sandbox's own small `ray`, Pods find the real one."""
    directory = tmp_path_factory.mktemp("sandbox")
    running = start_sandbox(directory, "127.0.0.1", 0)
    try:
        with real_command.in_place_of_ours(directory, running.api.url, ray_bin):
            yield running
    finally:
        running.stop()
