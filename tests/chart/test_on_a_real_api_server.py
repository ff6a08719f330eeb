"""What the chart makes, taken by a real API server: schemas, defaults, Pod security, rights."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobledger.adapters.kube.checks.rights import rights
from tests.apiserver.build import CannotBuild
from tests.chart.helm import CHART, definition, helm, rendered
from tests.chart.values import IMAGE, MATRIX, together
from tests.support.api import APPLY, Api, Reply, eventually, own_namespace
from tests.support.apiserver import ApiServer, programs
from tests.support.apiserver_content import DEFINITIONS

Document = dict[str, Any]

MONITORING = "github.com/prometheus-operator/prometheus-operator"
CERTIFICATES = "github.com/cert-manager/cert-manager"
OTHERS = (
    (MONITORING, "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"),
    (MONITORING, "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"),
    (CERTIFICATES, "deploy/crds/cert-manager.io_certificates.yaml"),
)
"""Module and file of each definition that the chart has objects of."""

RBAC = "/apis/rbac.authorization.k8s.io/v1"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
CREATED = 201


@pytest.fixture
def api(api_server: ApiServer) -> Iterator[Api]:
    """An administrator, with a namespace that takes in restricted Pods only."""
    admin = api_server.api()
    with own_namespace(admin) as own:
        own.request(
            "PATCH",
            f"/api/v1/namespaces/{own.namespace}",
            {"metadata": {"labels": RESTRICTED}},
            content_type="application/merge-patch+json",
        )
        yield own
    admin.pool.clear()


@pytest.fixture
def others(api: Api) -> None:
    """The Prometheus operator's and cert-manager's definitions are served."""
    for module, file in OTHERS:
        try:
            found = definition(module, file)
        except CannotBuild as problem:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(problem))
        reply = api.request("POST", DEFINITIONS, found)
        assert reply.code in {CREATED, 409}, reply.message  # 409: another worker was first
        group, plural = found["spec"]["group"], found["spec"]["names"]["plural"]
        version = next(one["name"] for one in found["spec"]["versions"] if one["served"])
        served(api, f"/apis/{group}/{version}/{plural}")


def served(api: Api, path: str) -> None:
    eventually(lambda: api.request("GET", path).code == 200, f"{path} is served")


def plural_of(kind: str) -> str:
    return {"NetworkPolicy": "networkpolicies"}.get(kind, f"{kind.lower()}s")


def applied(api: Api, document: Document, *, dry: bool) -> Reply:
    """Apply an object, as `kubectl apply --server-side` does; dry, nothing is kept."""
    version, meta = document["apiVersion"], document["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    place = f"/namespaces/{meta['namespace']}" if "namespace" in meta else ""
    path = f"{root}{place}/{plural_of(document['kind'])}/{meta['name']}"
    asked = {"fieldManager": "chart", "fieldValidation": "Strict"}
    asked |= {"dryRun": "All"} if dry else {}
    return api.request("PATCH", path, document, content_type=APPLY, **asked)


def pods(document: Document) -> Iterator[Document]:
    """Yield the template of Pods of an object, if it has one."""
    spec = document.get("spec", {})
    spec = spec.get("jobTemplate", {}).get("spec", spec)
    if "containers" in spec.get("template", {}).get("spec", {}):
        yield spec["template"]


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("row", MATRIX)
def test_the_api_server_takes_every_object_and_the_pods_of_it(
    row: str, api: Api, tmp_path: Path
) -> None:
    for document in rendered(together(IMAGE, MATRIX[row]), tmp_path, api.namespace):
        reply = applied(api, document, dry=True)
        assert reply.code in {200, CREATED}, (document["kind"], reply.message)
        for template in pods(document):
            assert template["spec"]["enableServiceLinks"] is False, "JOBLEDGER_PORT is a setting"
            template["spec"].pop("serviceAccountName", "")  # it is not there, as this is a dry run
            pod = {"metadata": {"name": "p"} | template["metadata"], "spec": template["spec"]}
            made = api.create("v1/pods", pod, dryRun="All")
            assert made.code == CREATED, made.message


def can(api: Api, account: str, attributes: Mapping[str, Any]) -> bool:
    user = f"system:serviceaccount:{api.namespace}:{account}"
    spec = {"user": user, "resourceAttributes": attributes}
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{api.namespace}"]
    asked = {"spec": spec | {"groups": groups}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(api.request("POST", path, asked).body["status"]["allowed"])


ON_BY_DEFAULT = {"rayjobs", "trainjobs", "evidence", "claims"}


def may_do_what_doctor_asks_for(api: Api, account: str) -> None:
    """Assert that a ServiceAccount has each right of what is on by default, and reads no Secret."""
    wanted = [right for right in rights() if right.part in ON_BY_DEFAULT]
    assert len(wanted) > 40
    last = wanted[-1].attributes(api.namespace)
    eventually(lambda: can(api, account, last), "the API server knows the roles")
    for right in wanted:
        place = api.namespace if right.part == "claims" else ""
        assert can(api, account, right.attributes(place)), right.words
    secrets = {"resource": "secrets", "verb": "get", "namespace": api.namespace}
    assert not can(api, account, secrets)


def test_installed_as_it_is_the_account_may_do_what_doctor_asks_for_and_reads_no_secret(
    api: Api, tmp_path: Path
) -> None:
    documents = [
        one
        for one in rendered(IMAGE, tmp_path, api.namespace)
        if one["kind"].startswith(("ServiceAccount", "ClusterRole", "Role"))
    ]
    try:
        for document in documents:
            reply = applied(api, document, dry=False)
            assert reply.code == CREATED, reply.message
        may_do_what_doctor_asks_for(api, api.namespace)
    finally:
        for one in documents:
            if "namespace" not in one["metadata"]:
                kind, name = plural_of(one["kind"]), one["metadata"]["name"]
                api.request("DELETE", f"{RBAC}/{kind}/{name}")


def test_kubectl_applies_the_same_objects_without_helm_and_takes_them_away(
    api_server: ApiServer, api: Api, tmp_path: Path
) -> None:
    """By a kustomization of one's own, as on the page; names of its own, as others are here too."""
    place = tmp_path / "mine"
    place.mkdir()
    own = {
        "resources": [os.path.relpath(CHART.parent / "kustomize", place)],
        "namespace": api.namespace,
        "nameSuffix": f"-{api.namespace}",
        "images": [{"name": "jobledger", "newName": "registry.example/j", "newTag": "1"}],
    }
    (place / "kustomization.yaml").write_text(yaml.safe_dump(own), encoding="utf-8")

    def kubectl(*words: str) -> list[str]:
        command = [str(programs() / "kubectl"), *words, "-k", str(place)]
        environment = {**os.environ, "KUBECONFIG": str(api_server.kubeconfig())}
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stderr
        return said.stdout.splitlines()

    try:
        first = kubectl("apply")
        assert all(line.endswith((" created", " configured")) for line in first), first
        assert {"namespace", "deployment.apps", "job.batch", "networkpolicy.networking.k8s.io"} < {
            line.partition("/")[0] for line in first
        }
        kubectl("apply")
        assert kubectl("diff") == []
        may_do_what_doctor_asks_for(api, f"jobledger-{api.namespace}")
        on_server = kubectl("apply", "--server-side", "--force-conflicts")
        assert len(on_server) == len(first)
        assert all(line.endswith(" serverside-applied") for line in on_server)
    finally:
        kubectl("delete", "--wait=false")
    assert installed(api) == set()


def installed(api: Api) -> set[str]:
    """Return kind/name of what the release has made, in its namespace and outside of it."""
    groups = {
        f"/apis/apps/v1/namespaces/{api.namespace}/deployments",
        f"/api/v1/namespaces/{api.namespace}/services",
        f"/apis/policy/v1/namespaces/{api.namespace}/poddisruptionbudgets",
        f"{RBAC}/namespaces/{api.namespace}/roles",
        f"{RBAC}/namespaces/{api.namespace}/rolebindings",
        f"{RBAC}/clusterroles",
        f"{RBAC}/clusterrolebindings",
    }
    found = {
        f"{path.rpartition('/')[2]}/{one['metadata']['name']}"
        for path in groups
        for one in api.request("GET", path).body["items"]
    }
    return {name for name in found if api.namespace in name}


def test_helm_installs_changes_takes_back_and_removes_it(
    api_server: ApiServer, api: Api, tmp_path: Path
) -> None:
    """Without what needs a node (the migration) and what others would meet (the webhooks)."""
    own = {"HELM_CACHE_HOME": str(tmp_path), "HELM_CONFIG_HOME": str(tmp_path)}
    own |= {"HELM_DATA_HOME": str(tmp_path), "KUBECONFIG": str(api_server.kubeconfig())}
    environment = {**os.environ, **own}
    where = ("--namespace", api.namespace)
    values = ("--set", "image.repository=registry.example/j", "--set", "migration.enabled=false")
    install = ("upgrade", "--install", api.namespace, str(CHART), *where, *values)

    def setting() -> str:
        deployment = api.get("apps/v1/deployments", api.namespace).body
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        named = {entry["name"]: entry.get("value") for entry in container["env"]}
        return str(named["JOBLEDGER_CLUSTER"])

    helm(environment, *install)
    plain = installed(api)
    assert f"deployments/{api.namespace}" in plain
    assert setting() == "default"
    helm(
        environment, *install, "--set", "trainerStatus.enabled=true", "--set", "settings.cluster=eu"
    )
    assert setting() == "eu"
    assert f"deployments/{api.namespace}-trainer-status" in installed(api)
    helm(environment, "rollback", api.namespace, "1", *where)
    assert setting() == "default"
    assert installed(api) == plain
    helm(environment, "uninstall", api.namespace, *where)
    assert installed(api) == set()
