"""Which versions of a kind a real API server serves, while its definition changes."""

import uuid

import pytest

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.core.errors import KindNotServed, ObjectNotFound
from jobledger.core.ports.cluster import CRDS, Resource
from jobledger.core.values.documents import Json, Manifest
from tests.support.apiserver import ApiServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.apiserver


def definition(group: str, *served: str) -> Manifest:
    schema: Json = {"openAPIV3Schema": {"type": "object"}}
    return {
        "metadata": {"name": f"odds.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": "odds", "kind": "Odd"},
            "scope": "Namespaced",
            "versions": [
                {"name": name, "served": name in served, "storage": name == "v1", "schema": schema}
                for name in ("v1", "v2")
            ],
        },
    }


def test_an_object_may_be_there_while_another_version_is_served(api_server: ApiServer) -> None:
    cluster = KubernetesCluster(
        connect(ConnectionSettings(kubeconfig=str(api_server.kubeconfig())))
    )
    group = f"{uuid.uuid4().hex[:10]}.example.com"
    odds = Resource(group, "v1", "odds", "Odd")

    def is_unknown() -> bool:
        try:
            cluster.get(odds, "default", "one")
        except KindNotServed:
            return True
        return False

    def is_gone() -> bool:
        try:
            return cluster.get(odds, "default", "one") is None
        except KindNotServed:  # it is still listed for a moment
            return False

    def is_made() -> bool:
        try:
            return bool(cluster.create(odds, {"metadata": {"namespace": "default", "name": "one"}}))
        except ObjectNotFound:
            return False

    cluster.create(CRDS, definition(group, "v1", "v2"))
    wait_until(is_made, "an object")
    cluster.merge_patch(CRDS, "", f"odds.{group}", {"spec": definition(group, "v2")["spec"]})
    wait_until(is_unknown, "v1 to be switched off")
    with pytest.raises(KindNotServed, match="odds"):
        cluster.get(odds, "default", "one")
    with pytest.raises(KindNotServed, match="odds"):
        cluster.delete(odds, "default", "one")
    cluster.merge_patch(CRDS, "", f"odds.{group}", {"spec": definition(group, "v1")["spec"]})
    wait_until(lambda: not is_unknown(), "v1 to be served again")
    cluster.delete(CRDS, "", f"odds.{group}")
    wait_until(is_gone, "its kind to be gone")
    cluster.delete(odds, "default", "one")
