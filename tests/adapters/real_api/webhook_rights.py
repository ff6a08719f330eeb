"""What `ops/webhooks.yaml` brings, in a namespace and under a name of a test's own."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.core.errors import RequestForbidden
from jobledger.core.ports.cluster import SECRETS
from tests.support.api import Api
from tests.support.apiserver import ApiServer
from tests.support.waiting import wait_until

Document = dict[str, Any]

PATIENCE_SECONDS = 30
"""The longest that Kubernetes allows: one that is late would be passed over."""

FILE = Path(__file__).resolve().parents[3] / "ops" / "webhooks.yaml"
PLACES = {
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "Service": "/api/v1/namespaces/{namespace}/services",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "MutatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    ),
    "ValidatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    ),
}
OF_THE_CLUSTER = ("ClusterRole", "ClusterRoleBinding", *[one for one in PLACES if "Web" in one])
CONFIGURATIONS = tuple(one for one in PLACES if "Web" in one)


def install(api: Api, file: Path = FILE) -> None:
    """Create all of it; webhooks judge objects of the test's namespace or with its label only."""
    for document in yaml.safe_load_all(file.read_text()):
        reply = api.request("POST", place(api, document["kind"]), _moved(document, api.namespace))
        assert reply.code == 201, reply.message


def remove(api: Api, kinds: Sequence[str] = OF_THE_CLUSTER) -> None:
    """Delete what does not go with the namespace."""
    for kind in kinds:
        path = f"{place(api, kind)}/{api.namespace}"
        assert api.request("DELETE", path).code == 200


def place(api: Api, kind: str) -> str:
    """Return where objects of a kind are served."""
    return PLACES[kind].format(namespace=api.namespace)


def call_at(api: Api, url: str) -> None:
    """Let the webhooks be called at an address, as there is no network of Services here."""
    for kind in CONFIGURATIONS:
        path = f"{place(api, kind)}/{api.namespace}"
        found = api.request("GET", path).body
        for hook in found["webhooks"]:
            path_of_hook = hook["clientConfig"].pop("service")["path"]
            hook["clientConfig"]["url"] = f"{url}{path_of_hook}"
            hook["timeoutSeconds"] = PATIENCE_SECONDS
        reply = api.request("PUT", path, found)
        assert reply.code == 200, reply.message


def kubeconfig(
    server: ApiServer, api: Api, directory: Path, account: str = "jobledger-webhooks"
) -> Path:
    """Return a kubeconfig of the ServiceAccount that a part runs as."""
    path = f"{place(api, 'ServiceAccount')}/{account}/token"
    token = api.request("POST", path, {"spec": {"expirationSeconds": 3600}})
    assert token.code == 201, token.message
    config = yaml.safe_load(server.kubeconfig().read_text())
    name = config["current-context"]
    context = next(one["context"] for one in config["contexts"] if one["name"] == name)
    user = next(one for one in config["users"] if one["name"] == context["user"])
    user["user"] = {"token": token.body["status"]["token"]}
    written = directory / f"{account}.kubeconfig"
    written.write_text(json.dumps(config))
    return written


def cluster(path: Path) -> KubernetesCluster:
    """Return the API server with the rights of a kubeconfig."""
    return KubernetesCluster(connect(ConnectionSettings(kubeconfig=str(path))))


def _moved(document: Document, namespace: str) -> Document:
    moved: Document = json.loads(
        json.dumps(document).replace('"namespace": "jobledger"', f'"namespace": "{namespace}"')
    )
    kind = moved["kind"]
    if kind in OF_THE_CLUSTER:
        moved["metadata"]["name"] = namespace
    if kind.endswith("Binding") and kind in OF_THE_CLUSTER:
        moved["roleRef"]["name"] = namespace
    if kind == "ClusterRole":
        for rule in moved["rules"]:
            if "resourceNames" in rule:
                rule["resourceNames"] = [namespace]
    for hook in moved.get("webhooks", ()):
        if hook["rules"][0]["resources"] == ["clustertrainingruntimes"]:
            hook["objectSelector"] = {"matchLabels": {"test": namespace}}
        else:
            labels = {"kubernetes.io/metadata.name": namespace}
            hook["namespaceSelector"] = {"matchLabels": labels}
    return moved


def wait_for_rights(
    cluster_: KubernetesCluster, namespace: str, secret: str = "jobledger-webhooks-tls"
) -> None:
    """Return once the roles are in force: a moment after they are made."""

    def may() -> bool:
        try:
            cluster_.get(SECRETS, namespace, secret)
        except RequestForbidden:
            return False
        return True

    wait_until(may, "the roles are in force")
