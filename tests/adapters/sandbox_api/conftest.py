"""A sandbox API server per test."""

from collections.abc import Iterator

import pytest

from jobledger.sandbox.api_server import SandboxApi
from tests.support.api import Api, api_at


@pytest.fixture
def server() -> Iterator[SandboxApi]:
    with SandboxApi() as running:
        yield running


@pytest.fixture
def api(server: SandboxApi) -> Iterator[Api]:
    client = api_at(server.url)
    reply = client.request("POST", "/api/v1/namespaces", {"metadata": {"name": "here"}})
    assert reply.code == 201
    yield Api(client.url, client.pool, "here")
    client.pool.clear()
