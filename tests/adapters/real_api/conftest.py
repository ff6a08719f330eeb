"""A namespace of a real API server, and the pieces of the service that write to it."""

from collections.abc import Iterator

import pytest

from tests.adapters.real_api.desk import Desk, desk_in
from tests.support.api import own_namespace
from tests.support.apiserver import ApiServer


@pytest.fixture
def desk(api_server: ApiServer) -> Iterator[Desk]:
    """Everything that writes, as a controller with the rights of `ops/rbac.yaml`."""
    admin = api_server.api()
    with own_namespace(admin) as api:
        yield desk_in(api_server, api)
    admin.pool.clear()
