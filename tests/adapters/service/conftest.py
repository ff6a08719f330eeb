"""Fixtures for the tests of the service."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs


@pytest.fixture(autouse=True)
def log_lines() -> Iterator[list[MutableMapping[str, Any]]]:
    """What was logged; nothing is rendered, tracebacks least of all."""
    with capture_logs() as lines:
        yield lines
