"""A real API server takes the definitions that Jobledger brings, and what they let through."""

import pytest

from tests.support.api import Api
from tests.support.apiserver import ApiServer
from tests.support.apiserver_content import DEFINITIONS, Document, own_definitions

pytestmark = pytest.mark.apiserver


@pytest.fixture
def admin(api_server: ApiServer) -> Api:
    return api_server.api()


@pytest.mark.parametrize("definition", own_definitions(), ids=lambda one: one["metadata"]["name"])
def test_our_own_definitions_can_take_the_place_of_upstreams(
    admin: Api, definition: Document
) -> None:
    """They are structural, their rules compile, and no field is one the API does not know."""
    path = f"{DEFINITIONS}/{definition['metadata']['name']}"
    metadata = admin.request("GET", path).body["metadata"]
    version = {"resourceVersion": metadata["resourceVersion"]}
    replaced = {**definition, "metadata": {**definition["metadata"], **version}}
    reply = admin.request("PUT", path, replaced, dryRun="All", fieldValidation="Strict")
    assert reply.code == 200, reply.message
    assert "warning" not in reply.headers
    admin.pool.clear()


@pytest.mark.parametrize("definition", own_definitions(), ids=lambda one: one["metadata"]["name"])
def test_our_own_definitions_can_be_installed_under_another_group(
    admin: Api, definition: Document
) -> None:
    """A create is checked more strictly than a change."""
    group = "jobledger-tests.example"
    spec = definition["spec"]
    document = {
        **definition,
        "metadata": {"name": f"{spec['names']['plural']}.{group}"},
        "spec": {**spec, "group": group},
    }
    reply = admin.request("POST", DEFINITIONS, document, dryRun="All", fieldValidation="Strict")
    assert reply.code == 201, reply.message
    admin.pool.clear()
