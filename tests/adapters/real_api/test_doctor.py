"""What `jobledger doctor` asks, answered by a real API server with the rights of ops/rbac.yaml."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from jobledger.adapters.kube.checks.cluster import ClusterView, api_clock, definitions, permissions
from jobledger.adapters.kube.checks.rights import Wants
from jobledger.adapters.kube.checks.webhooks import webhooks
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.core.forensics.findings import Severity
from tests.support.api import Api, own_namespace
from tests.support.apiserver import ApiServer

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


def test_who_may_not_read_webhooks_is_told_so(api_server: ApiServer) -> None:
    told = list(webhooks(view_of(api_server, "controller")))
    assert {one.severity for one in told} == {Severity.NOTE}
