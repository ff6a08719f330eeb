"""An object that somebody has nested as deep as an API server takes keeps nobody's unread."""

import json

import pytest

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.core.ports.cluster import CONFIGMAPS, RAYJOBS, Resource
from tests.contracts.cluster_listener import RecordingListener
from tests.support.api import Api, own_namespace, rayjob
from tests.support.apiserver import ApiServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.apiserver

LEVELS = 4000
"""Of the ten thousand that JSON may have; Python's limit is a thousand."""

MANIFESTS = {
    RAYJOBS: rayjob("nested"),
    CONFIGMAPS: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nested"}},
}


def post_nested(api: Api, resource: Resource) -> int:
    """Create an object that names a writer of fields in fields; return the answer's code."""
    manifest = MANIFESTS[resource]
    version, fields = manifest["apiVersion"], '{"f:spec":' * LEVELS + "{}" + "}" * LEVELS
    how = {"operation": "Apply", "fieldsType": "FieldsV1", "time": "2026-11-30T12:00:00Z"}
    writer = {"manager": "x", "apiVersion": version, **how, "fieldsV1": "nested"}
    named = {**manifest["metadata"], "name": "nested", "managedFields": [writer]}
    body = json.dumps({**manifest, "metadata": named})
    answer = api.pool.request(
        "POST",
        f"{api.url}{api.path(f'{version}/{resource.plural}')}",
        body=body.replace('"fieldsV1": "nested"', f'"fieldsV1": {fields}').encode(),
        headers={**api.headers, "Content-Type": "application/json"},
    )
    return answer.status


@pytest.mark.parametrize("resource", list(MANIFESTS), ids=lambda one: one.kind)
def test_it_is_listed_and_watched_with_all_others(
    api_server: ApiServer, resource: Resource
) -> None:
    """One ConfigMap of any tenant kept every ConfigMap, and so with RayJobs, from being seen."""
    admin = api_server.api()
    transport = connect(ConnectionSettings(kubeconfig=str(api_server.kubeconfig())), {})
    watches, listener = KubernetesWatches(transport), RecordingListener()
    with own_namespace(admin) as api:
        watch = watches.watch(resource, listener, namespace=api.namespace)
        wait_until(lambda: watch.health.synced, "the first list")
        assert post_nested(api, resource) == 201
        wait_until(lambda: "seen nested" in [told.short for told in listener.told], "the object")
        watch.stop()
        again = RecordingListener()
        watch = watches.watch(resource, again, namespace=api.namespace)
        wait_until(lambda: watch.health.synced, "the list with it")
        watch.stop()
        assert "seen nested" in [told.short for told in again.told]
        cluster = KubernetesCluster(transport)
        assert cluster.get(resource, api.namespace, "nested") is not None
        cluster.delete(resource, api.namespace, "nested")  # what clears up could not read it
    admin.pool.clear()
