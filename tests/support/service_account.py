"""A service account of a file in `ops/` with the bindings that stand there, in a namespace given.

Everything else that is bound on the test server is bound to users; this is what an operator has
after `kubectl apply -f` of that file.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.support.api import Api
from tests.support.apiserver import ApiServer
from tests.support.apiserver_content import RBAC, ROOT, parsed

ACCOUNT = "jobledger"
RECORDER = "jobledger-recorder"

FILES = {ACCOUNT: "rbac.yaml", RECORDER: "rbac-recorder.yaml"}
"""Account -> the file in `ops/` that makes and binds it."""

Document = dict[str, Any]


def user_of(namespace: str, account: str = ACCOUNT) -> str:
    """Return the name under which the API server knows an account."""
    return f"system:serviceaccount:{namespace}:{account}"


@contextmanager
def bound_account(
    server: ApiServer,
    admin: Api,
    name: str = ACCOUNT,
    *,
    without: Collection[str] = (),
    also: Collection[str] = (),
) -> Iterator[Path]:
    """Give the kubeconfig of an account, in the namespace of `admin` in place of `jobledger`.

    Args:
        server: has the ClusterRoles already.
        admin: an administrator, in the namespace that is to hold account and claims.
        name: of the account, as in `FILES`.
        without: parts (ClusterRoles) that are not bound.
        also: parts that are bound by whoever asks for them, for the whole cluster here.
    """
    bound = _bindings(admin.namespace, name, also)
    bindings = [one for one in bound if one["roleRef"]["name"] not in without]
    account = {"metadata": {"name": name}}
    assert admin.create("v1/serviceaccounts", account).code == 201  # Created
    made = []
    try:
        for one in bindings:
            path = _path(admin, one)
            reply = admin.request("POST", path, one)
            assert reply.code == 201, reply.message  # Created
            made.append(f"{path}/{one['metadata']['name']}")
        yield _kubeconfig(server, admin, name)
    finally:
        for path in made:
            admin.request("DELETE", path)


def _bindings(namespace: str, account: str, also: Collection[str]) -> Iterator[Document]:
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
    for one in parsed((ROOT / "ops" / FILES[account]).read_text(encoding="utf-8")):
        if one["kind"] == "RoleBinding":
            yield one | {"subjects": subjects, "metadata": {"name": one["metadata"]["name"]}}
        elif one["kind"] == "ClusterRoleBinding":
            name = f"{namespace}-{one['metadata']['name']}"
            yield one | {"subjects": subjects, "metadata": {"name": name}}
    for role in also:
        group = "rbac.authorization.k8s.io"
        yield {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{namespace}-{role}"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": subjects,
        }


def _path(admin: Api, binding: Document) -> str:
    if binding["kind"] == "RoleBinding":
        return f"{RBAC}/namespaces/{admin.namespace}/rolebindings"
    return f"{RBAC}/clusterrolebindings"


def _kubeconfig(server: ApiServer, admin: Api, account: str) -> Path:
    path = admin.path("v1/serviceaccounts", account, "token")
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    reply = admin.request("POST", path, asked)
    assert reply.code == 201, reply.message  # Created
    config = yaml.safe_load(server.kubeconfig().read_text(encoding="utf-8"))
    (user,) = config["users"]
    user["user"] = {"token": reply.body["status"]["token"]}
    written = server.directory / f"{admin.namespace}.kubeconfig"
    written.write_text(yaml.safe_dump(config), encoding="utf-8")
    return written
