"""What `jobledger doctor` asks, answered by a real API server with the rights of ops/rbac.yaml."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from jobledger.adapters.admission.certificates import new_certificate
from jobledger.adapters.kinds.trainjob.progress import checks as progress
from jobledger.adapters.kube.checks.cluster import ClusterView, api_clock, definitions, permissions
from jobledger.adapters.kube.checks.rights import TRAINER_STATUS, Wants, rights
from jobledger.adapters.kube.checks.webhooks import webhooks
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.core.forensics.findings import Severity
from tests.adapters.real_api import webhook_rights
from tests.house.test_docs import ROOT
from tests.support.api import CONFIGMAPS, PODS, Api, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.apiserver


def view_of(api_server: ApiServer, user: str, *, only_records: bool = False) -> ClusterView:
    transport = connect(ConnectionSettings(kubeconfig=str(api_server.kubeconfig(user))))
    return ClusterView(
        transport=transport,
        cluster=KubernetesCluster(transport),
        now=lambda: datetime.now(UTC),
        wants=Wants(reviews_tokens=True, volcano=True, only_records=only_records),
    )


def test_the_role_that_is_shipped_allows_everything_that_is_asked_for(
    api_server: ApiServer,
) -> None:
    view = view_of(api_server, "controller")
    assert list(permissions(view)) == []
    assert list(api_clock(view)) == []
    told = list(definitions(view))
    assert {finding.severity for finding in told} <= {Severity.NOTE}, "it may not read definitions"


def test_a_reader_is_told_what_is_missing(api_server: ApiServer) -> None:
    missing = {finding.what for finding in permissions(view_of(api_server, "read-only"))}
    assert "may not patch rayjobs.ray.io --subresource=status" in missing
    assert "may not create rayclusters.ray.io" in missing


def test_a_recorder_misses_nothing(api_server: ApiServer) -> None:
    assert list(permissions(view_of(api_server, "recorder", only_records=True))) == []


def test_an_administrator_sees_that_nothing_is_pruned(api_server: ApiServer) -> None:
    assert list(definitions(view_of(api_server, "admin"))) == []


HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
SLICES = "discovery.k8s.io/v1/endpointslices"


@contextmanager
def orphaned_hook(api: Api, failure_policy: str, **rule: Any) -> Iterator[str]:  # noqa: ANN401 fields of a rule
    """Leave a webhook of a Service that is not there; it judges this test's namespace only."""
    hook = {
        "name": "validator.trainjob.example.org",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": failure_policy,
        "clientConfig": {"service": {"name": "manager", "namespace": api.namespace}},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}},
        "rules": [{"apiVersions": ["*"], "operations": ["CREATE"]} | rule],
    }
    reply = api.request("POST", HOOKS, {"metadata": {"name": api.namespace}, "webhooks": [hook]})
    assert reply.code == 201, reply.message
    try:
        yield api.namespace
    finally:
        api.request("DELETE", f"{HOOKS}/{api.namespace}")


@pytest.mark.parametrize(
    ("policy", "severity", "said"),
    [
        ("Fail", Severity.ERROR, "nobody can create or change trainjobs"),
        ("Ignore", Severity.WARNING, "it is passed over"),
    ],
)
def test_webhooks_that_nobody_answers_for_are_named(
    api_server: ApiServer, policy: str, severity: Severity, said: str
) -> None:
    view = view_of(api_server, "admin")
    with own_namespace(api_server.api()) as api:
        rule = {"apiGroups": ["trainer.kubeflow.org"], "resources": ["trainjobs"]}
        with orphaned_hook(api, policy, **rule) as name:
            (found,) = [one for one in webhooks(view) if name in one.what]
            assert found.severity is severity
            assert said in found.what
            assert f"kubectl delete validatingwebhookconfiguration {name}" in found.remedy
            endpoints = {
                "metadata": {"name": "m", "labels": {"kubernetes.io/service-name": "manager"}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.0.0.7"], "conditions": {"ready": True}}],
            }
            assert api.create(SLICES, endpoints).code == 201
            assert [one for one in webhooks(view) if name in one.what] == []


def test_webhooks_of_other_kinds_are_not_looked_at(api_server: ApiServer) -> None:
    view = view_of(api_server, "admin")
    with own_namespace(api_server.api()) as api:
        rule = {"apiGroups": [""], "resources": ["configmaps"]}
        with orphaned_hook(api, "Fail", **rule) as name:
            assert [one for one in webhooks(view) if name in one.what] == []


SERVER = "jobledger-trainer-status"


def told_of(view: ClusterView, api: Api) -> ClusterView:
    """Return a view of a cluster whose Pods are told of the server in a test's namespace."""
    wants = Wants(
        status_url=f"https://{SERVER}.{api.namespace}.svc:10443",
        status_authority=(api.namespace, f"{SERVER}-ca"),
    )
    return replace(view, wants=wants)


def bring_up(api: Api) -> None:
    """Make what a server that runs leaves in the cluster."""
    trusted = new_certificate(("a.b.svc",), datetime.now(UTC)).trusted
    made = {"metadata": {"name": f"{SERVER}-ca"}, "data": {"ca.crt": trusted}}
    assert api.create(CONFIGMAPS, made).code == 201
    container = {"name": "trainer-status", "image": "jobledger"}
    spec = {"serviceAccountName": SERVER, "containers": [container]}
    assert api.create(PODS, {"metadata": {"name": "server-1"}, "spec": spec}).code == 201
    endpoint = {
        "addresses": ["10.0.0.7"],
        "conditions": {"ready": True},
        "targetRef": {"kind": "Pod", "name": "server-1", "namespace": api.namespace},
    }
    endpoints = {
        "metadata": {"name": "s", "labels": {"kubernetes.io/service-name": SERVER}},
        "addressType": "IPv4",
        "endpoints": [endpoint],
    }
    assert api.create(SLICES, endpoints).code == 201


def test_where_pods_report_is_missed_until_it_is_there(api_server: ApiServer) -> None:
    file = ROOT / "ops" / "trainer-status.yaml"
    with own_namespace(api_server.api()) as api:
        view = told_of(view_of(api_server, "admin"), api)

        def said() -> list[str]:
            return [one.what for check in progress.CHECKS for one in check.run(view)]

        (_, server) = said()
        assert f"Service {api.namespace}/{SERVER}, named by" in server
        webhook_rights.install(api, file)
        try:
            (authority, server) = said()
            assert "TrainJobs are not built" in authority
            assert "nobody answers" in server
            bring_up(api)
            wait_until(lambda: said() == [], "the rights are in force")
        finally:
            webhook_rights.remove(api, ("ClusterRole", "ClusterRoleBinding"))
        lacks = f"ServiceAccount {api.namespace}/{SERVER} of trainer-status may not "
        every = {f"{lacks}{right.words}" for right in rights(TRAINER_STATUS)}
        wait_until(lambda: set(said()) == every, "the rights are gone")


def test_who_may_not_read_of_the_server_is_told_so(api_server: ApiServer) -> None:
    with own_namespace(api_server.api()) as api:
        webhook_rights.install(api, ROOT / "ops" / "trainer-status.yaml")
        try:
            bring_up(api)
            view = told_of(view_of(api_server, "controller"), api)
            told = [one for check in progress.CHECKS for one in check.run(view)]
        finally:
            webhook_rights.remove(api, ("ClusterRole", "ClusterRoleBinding"))
        assert {one.check for one in told} == {"progress-server", "progress-rights"}
        assert {one.severity for one in told} == {Severity.NOTE}


def test_who_may_not_read_webhooks_webhooks_is_told_so(api_server: ApiServer) -> None:
    told = list(webhooks(view_of(api_server, "controller")))
    assert {one.severity for one in told} == {Severity.NOTE}
