"""What `jobledger doctor` asks, answered by a real API server with the rights of ops/rbac.yaml."""

from datetime import UTC, datetime

import pytest

from adapters.kube.checks.cluster import ClusterView, api_clock, definitions, permissions
from adapters.kube.checks.rights import Wants
from adapters.kube.client import KubernetesCluster
from adapters.kube.connection import ConnectionSettings, connect
from core.forensics.findings import Severity
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


def test_a_reader_is_told_what_is_missing_and_may_record(api_server: ApiServer) -> None:
    missing = {finding.what for finding in permissions(view_of(api_server, "read-only"))}
    assert "may not patch rayjobs.ray.io --subresource=status" in missing
    assert "may not create rayclusters.ray.io" in missing


def test_an_administrator_sees_that_nothing_is_pruned(api_server: ApiServer) -> None:
    assert list(definitions(view_of(api_server, "admin"))) == []
