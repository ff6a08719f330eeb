"""The sandbox keeps the contract of a Kubernetes API, which is that of a real API server."""

from collections.abc import Iterator

import pytest

from jobledger.sandbox.api_server import SandboxApi
from tests.contracts.kubernetes_api import RULES, Rule
from tests.support.api import Api, api_at, own_namespace
from tests.support.apiserver import ApiServer


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Api]:
    with SandboxApi() as server:
        api = api_at(server.url)
        yield api
        api.pool.clear()


@pytest.fixture(scope="module")
def real(api_server: ApiServer) -> Iterator[Api]:
    api = api_server.api()
    yield api
    api.pool.clear()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_sandbox_keeps_the_contract(sandbox: Api, rule: Rule) -> None:
    with own_namespace(sandbox) as api:
        rule(api)


@pytest.mark.apiserver
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_real_api_server_keeps_the_contract(real: Api, rule: Rule) -> None:
    with own_namespace(real) as api:
        rule(api)


def test_there_are_rules_for_everything() -> None:
    """At least forty, and no name twice."""
    assert len({rule.__name__ for rule in RULES}) == len(RULES) >= 40
