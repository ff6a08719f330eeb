"""What `jobledger doctor` asks about where Pods of TrainJobs report their progress."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from jobledger.adapters.admission.certificates import new_certificate
from jobledger.adapters.kinds.trainjob.progress import checks as progress
from jobledger.adapters.kube.checks.cluster import ClusterView
from jobledger.adapters.kube.checks.endpoints import SLICES
from jobledger.adapters.kube.checks.rights import TRAINER_STATUS, Wants, rights
from jobledger.adapters.kube.transport import Transport
from jobledger.core.errors import RequestForbidden
from jobledger.core.forensics.findings import Finding, Severity
from jobledger.core.ports.cluster import CONFIGMAPS, PODS, SERVICES, ObjectList, Resource
from jobledger.core.values.documents import Manifest
from tests.support.memory_cluster import MemoryCluster

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
NAME = "jobledger-trainer-status"
URL = f"https://{NAME}.jobledger.svc:10443"
WANTS = Wants(status_url=URL, status_authority=("jobledger", f"{NAME}-ca"))


def pem(begins: datetime, valid: timedelta, before: str = "") -> str:
    """Return an authority, before those that were trusted until it begins."""
    return new_certificate(("a.b.svc",), begins, before, valid).trusted


class Installed(MemoryCluster):
    """A cluster with the server as ops/trainer-status.yaml and the how-to have it."""

    def __init__(self) -> None:
        super().__init__()
        place = {"name": NAME, "namespace": "jobledger"}
        port = {"port": 10443, "targetPort": 10443}
        target = {"kind": "Pod", "name": "server-1", "namespace": "jobledger"}
        self.endpoint: dict[str, Any] = {
            "addresses": ["10.0.0.7"],
            "conditions": {"ready": True},
            "targetRef": target,
        }
        self.authority = pem(NOW, 3650 * DAY)
        self.service: dict[str, Any] = {"metadata": place, "spec": {"ports": [port]}}
        self.account = NAME
        self.gone: set[Resource] = set()
        self.hidden: set[str] = set()
        """Plurals that may not be read, nor made."""
        self.denied: set[tuple[str, str]] = set()
        """Namespace and words of rights that the server has not."""
        self.users: set[str] = set()

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        self._guard(resource)
        known: dict[tuple[Resource, str], Manifest] = {
            (CONFIGMAPS, f"{NAME}-ca"): {"data": {"ca.crt": self.authority}},
            (SERVICES, NAME): self.service,
            (PODS, "server-1"): {"spec": {"serviceAccountName": self.account}},
        }
        assert namespace == "jobledger"
        return None if resource in self.gone else known.get((resource, name))

    def list(self, resource: Resource, namespace: str = "", label_selector: str = "") -> ObjectList:
        self._guard(resource)
        assert resource is SLICES
        of = (namespace, label_selector) == ("jobledger", f"kubernetes.io/service-name={NAME}")
        slices = [{"endpoints": [self.endpoint]}] if of and resource not in self.gone else []
        return ObjectList(items=slices, resource_version="1")

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        self._guard(resource)
        spec = cast("dict[str, Any]", manifest["spec"])
        self.users.add(spec["user"])
        asked = spec["resourceAttributes"]
        words = f"{asked['verb']} {asked['resource']}"
        words += f"/{asked['subresource']}" if "subresource" in asked else ""
        return {"status": {"allowed": (asked["namespace"], words) not in self.denied}}

    def _guard(self, resource: Resource) -> None:
        if resource.plural in self.hidden:
            raise RequestForbidden("GET", "no")


@pytest.fixture
def installed() -> Installed:
    return Installed()


@pytest.fixture
def view(installed: Installed) -> ClusterView:
    transport = cast("Transport", None)
    return ClusterView(transport=transport, cluster=installed, now=lambda: NOW, wants=WANTS)


def findings(view: ClusterView) -> list[Finding]:
    return [finding for check in progress.CHECKS for finding in check.run(view)]


def the_only(view: ClusterView) -> Finding:
    (found,) = findings(view)
    return found


def test_a_server_that_can_be_trusted_and_answers_gives_no_finding(
    installed: Installed, view: ClusterView
) -> None:
    assert findings(view) == []
    assert installed.users == {f"system:serviceaccount:jobledger:{NAME}"}


@pytest.mark.parametrize(
    "wants",
    [
        replace(WANTS, status_url=""),
        replace(WANTS, kinds=("RayJob",)),
        replace(WANTS, only_records=True),
    ],
)
def test_where_pods_are_told_of_no_server_nothing_is_asked(
    installed: Installed, view: ClusterView, wants: Wants
) -> None:
    installed.gone |= {CONFIGMAPS, SERVICES, SLICES}
    assert findings(replace(view, wants=wants)) == []


ENDED = pem(NOW - 40 * DAY, 39 * DAY)


@pytest.mark.parametrize(
    ("authority", "severity", "said"),
    [
        ("", Severity.ERROR, "is not there: TrainJobs are not built"),
        ("-----BEGIN", Severity.ERROR, "is no certificate"),
        (ENDED, Severity.ERROR, "ended at 2026-11-21T12:00:00Z"),
        (pem(NOW + DAY, 90 * DAY), Severity.ERROR, "is not valid before 2026-11-23T11:50:00Z"),
        (pem(NOW - DAY, 31 * DAY - timedelta(1e-6)), Severity.WARNING, "in 29 days"),
        (pem(NOW - 31 * DAY, 31 * DAY), Severity.ERROR, "ended at 2026-11-22T12:00:00Z"),
    ],
    ids=["gone", "broken", "ended", "not yet", "soon", "now"],
)
def test_an_authority_that_pods_cannot_use_is_told(
    installed: Installed, view: ClusterView, authority: str, severity: Severity, said: str
) -> None:
    installed.authority = authority
    found = the_only(view)
    assert (found.check, found.severity) == ("progress-authority", severity)
    assert f"ConfigMap jobledger/{NAME}-ca" in found.what
    assert said in found.what


@pytest.mark.parametrize(
    "authority",
    [pem(NOW - DAY, 31 * DAY), pem(NOW, 90 * DAY, pem(NOW - 80 * DAY, 90 * DAY)), ENDED],
    ids=["thirty days are left", "a successor is there as well", "ended and a successor"],
)
def test_of_several_authorities_the_last_counts(
    installed: Installed, view: ClusterView, authority: str
) -> None:
    installed.authority = authority + (pem(NOW, 90 * DAY) if authority is ENDED else "")
    assert findings(view) == []


@pytest.mark.parametrize("named", [("", ""), ("jobledger", ""), ("jobledger", "another")])
def test_an_authority_that_the_settings_do_not_name_is_not_there(
    view: ClusterView, named: tuple[str, str]
) -> None:
    found = the_only(replace(view, wants=replace(WANTS, status_authority=named)))
    assert (found.check, found.severity) == ("progress-authority", Severity.ERROR)
    assert "JOBLEDGER_TRAINER_STATUS_AUTHORITY" in found.remedy


@pytest.mark.parametrize(
    ("url", "severity", "said"),
    [
        (URL.replace("https", "http"), Severity.ERROR, "no https:// address without a path"),
        (f"{URL}/apis", Severity.ERROR, "no https:// address without a path"),
        ("https://[x", Severity.ERROR, "no https:// address without a path"),
        (f"{URL[:-1]}x", Severity.ERROR, "no https:// address without a path"),
        ("https://", Severity.ERROR, "no https:// address without a path"),
        ("https://status.example.org", Severity.NOTE, "whether somebody answers there is unknown"),
        (f"https://{NAME}.jobledger.svc", Severity.ERROR, "has no port 443"),
        (URL.replace(NAME, "other"), Severity.ERROR, "Service jobledger/other, named by"),
    ],
)
def test_an_address_that_leads_nowhere_is_told(
    view: ClusterView, url: str, severity: Severity, said: str
) -> None:
    found = the_only(replace(view, wants=replace(WANTS, status_url=url)))
    assert (found.check, found.severity) == ("progress-server", severity)
    assert said in found.what


@pytest.mark.parametrize("domain", ["", ".cluster.local", ".example.org"])
def test_the_domain_of_the_cluster_is_no_part_of_the_place(view: ClusterView, domain: str) -> None:
    url = f"https://{NAME}.jobledger.svc{domain}:10443/"
    assert findings(replace(view, wants=replace(WANTS, status_url=url))) == []


@pytest.mark.parametrize(
    "endpoint",
    [{"conditions": {"ready": False}}, {"addresses": []}],
)
def test_a_service_behind_which_nobody_is_ready_is_told(
    installed: Installed, view: ClusterView, endpoint: dict[str, Any]
) -> None:
    installed.endpoint |= endpoint
    found = the_only(view)
    assert (found.check, found.severity) == ("progress-server", Severity.ERROR)
    assert f"nobody answers for Service jobledger/{NAME}" in found.what


@pytest.mark.parametrize("spec", [{"type": "ExternalName"}, {"clusterIP": "None"}])
def test_a_service_that_maps_no_port_may_have_none(
    installed: Installed, view: ClusterView, spec: dict[str, Any]
) -> None:
    installed.service["spec"] = spec
    if "type" in spec:
        installed.gone.add(SLICES)
    assert findings(view) == []


@pytest.mark.parametrize("missing", list(rights(TRAINER_STATUS)), ids=lambda one: one.words)
def test_each_right_that_the_server_lacks_is_told(
    installed: Installed,
    view: ClusterView,
    missing: Any,  # noqa: ANN401
) -> None:
    installed.denied.add(("", f"{missing.verb} {missing.resource}"))
    installed.account = "somebody"
    found = the_only(view)
    assert (found.check, found.severity) == ("progress-rights", Severity.ERROR)
    assert found.what == (
        f"ServiceAccount jobledger/somebody of trainer-status may not {missing.words}"
    )
    assert "ops/trainer-status.yaml" in found.remedy


def test_rights_are_asked_for_in_the_namespaces_of_the_jobs(
    installed: Installed, view: ClusterView
) -> None:
    in_two = replace(view, namespaces=("a", "b"))
    installed.denied |= {("", "patch trainjobs/status"), ("b", "create tokenreviews")}
    assert findings(in_two) == []
    installed.denied |= {("b", "patch trainjobs/status"), ("", "create tokenreviews")}
    assert [item.check for item in findings(in_two)] == ["progress-rights"] * 2


@pytest.mark.parametrize(
    ("hidden", "checks"),
    [
        ("configmaps", {"progress-authority"}),
        ("services", {"progress-server"}),
        ("endpointslices", {"progress-server", "progress-rights"}),
        ("pods", {"progress-rights"}),
        ("subjectaccessreviews", {"progress-rights"}),
    ],
)
def test_what_may_not_be_read_is_only_noted(
    installed: Installed, view: ClusterView, hidden: str, checks: set[str]
) -> None:
    installed.hidden.add(hidden)
    found = findings(view)
    assert {item.check for item in found} == checks
    assert {item.severity for item in found} == {Severity.NOTE}
    assert all("unknown" in item.what for item in found)


def test_the_rights_are_those_of_the_file() -> None:
    found = {f"{one.verb} {one.resource}" for one in rights(TRAINER_STATUS)}
    assert found == {
        "create tokenreviews",
        "get pods",
        "get jobs",
        "get jobsets",
        "get trainjobs",
        "patch trainjobs/status",
    }
