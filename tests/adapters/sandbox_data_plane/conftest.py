"""One data plane per test, ended with the test, leaving nothing behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.sandbox_data_plane.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    one = World(tmp_path)
    one.plane.start()
    yield one
    one.plane.stop()
    assert one.processes() == []
