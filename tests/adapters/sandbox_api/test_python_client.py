"""The official Python client works with the sandbox."""

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, watch

from jobledger.sandbox.api_server import SandboxApi
from tests.support.api import rayjob

PLACE: dict[str, Any] = {
    "group": "ray.io",
    "version": "v1",
    "namespace": "default",
    "plural": "rayjobs",
}


@pytest.fixture
def connection(server: SandboxApi) -> Iterator[client.ApiClient]:
    configuration = client.Configuration()
    configuration.host = server.url
    configuration.retries = False
    with client.ApiClient(configuration) as connected:
        yield connected


def test_custom_objects_are_created_changed_watched_and_deleted(
    connection: client.ApiClient,
) -> None:
    objects = client.CustomObjectsApi(connection)
    created: Any = objects.create_namespaced_custom_object(**PLACE, body=rayjob("a"))
    assert created["metadata"]["generation"] == 1
    status = {"status": {"jobStatus": "RUNNING"}}
    objects.patch_namespaced_custom_object_status(**PLACE, name="a", body=status)
    objects.delete_namespaced_custom_object(**PLACE, name="a")
    revision = created["metadata"]["resourceVersion"]
    watching: Any = watch.Watch  # the library's class has no types
    stream = watching().stream(
        objects.list_namespaced_custom_object,
        **PLACE,
        resource_version=revision,
        timeout_seconds=1,
    )
    assert [event["type"] for event in stream] == ["MODIFIED", "DELETED"]


def test_typed_objects_are_read_and_refusals_carry_their_reason(
    connection: client.ApiClient,
) -> None:
    core = client.CoreV1Api(connection)
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"k": "v"})
    core.create_namespaced_config_map("default", body)
    found = core.list_namespaced_config_map("default").items
    assert [item.metadata and item.metadata.name for item in found] == ["a"]
    with pytest.raises(client.ApiException, match="AlreadyExists") as refused:
        core.create_namespaced_config_map("default", body)
    assert refused.value.status == 409
    version: Any = client.VersionApi(connection).get_code()
    assert version.major == "1"
    core.delete_namespaced_config_map("a", "default")
    assert core.list_namespaced_config_map("default").items == []
