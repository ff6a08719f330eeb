"""What `jobledger doctor` asks of a cluster: silent on a sound one, and each check fails once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import urllib3
import yaml

from jobledger.adapters.kube.checks import cluster as of_cluster
from jobledger.adapters.kube.checks import leaks
from jobledger.adapters.kube.checks.cluster import ClusterView
from jobledger.adapters.kube.checks.leaks import Objects
from jobledger.adapters.kube.checks.rights import Right, Wants, how_bad, rights
from jobledger.adapters.kube.transport import Request, Transport
from jobledger.core.claims.leases import manifest_of
from jobledger.core.claims.rule import Claim, Standing
from jobledger.core.errors import ObjectNotFound, RequestForbidden
from jobledger.core.forensics.findings import Finding, Severity
from jobledger.core.jobs.control.control_policy import Refusal
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    CRDS,
    JOBSETS,
    LEASES,
    NAMESPACES,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINJOBS,
    ObjectList,
    Resource,
)
from jobledger.core.values.documents import Manifest, text
from tests.house.test_docs import ROOT
from tests.support.memory_cluster import MemoryCluster

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class Guarded(MemoryCluster):
    """A cluster that answers reviews, serves only some kinds, and may hide definitions."""

    def __init__(self) -> None:
        super().__init__()
        self.denied: set[tuple[str, str]] = set()
        self.unserved: set[Resource] = set()
        self.hides_definitions = False

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        if resource.kind != "SelfSubjectAccessReview":
            return super().create(resource, manifest)
        about: Any = manifest["spec"]
        asked = about["resourceAttributes"]
        denied = (str(asked["verb"]), str(asked["resource"])) in self.denied
        return {"status": {"allowed": not denied}}

    def list(self, resource: Resource, namespace: str = "", label_selector: str = "") -> ObjectList:
        if resource in self.unserved:
            raise ObjectNotFound(resource.plural)
        return super().list(resource, namespace, label_selector)

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        if resource is CRDS and self.hides_definitions:
            raise RequestForbidden("GET", "no")
        return super().get(resource, namespace, name)


@dataclass
class Dated:
    """Sends requests to nobody; each answer has the date of a clock."""

    date: datetime

    def open(self, request: Request) -> urllib3.BaseHTTPResponse:
        assert request.method == "GET"
        shown = self.date.strftime("%a, %d %b %Y %H:%M:%S GMT")
        return urllib3.HTTPResponse(body=b"{}", headers={"Date": shown}, preload_content=False)


@pytest.fixture
def guarded() -> Guarded:
    """A cluster, which has the definitions of ops/crds."""
    return Guarded()


@pytest.fixture
def view(guarded: Guarded) -> ClusterView:
    transport = cast("Transport", Dated(NOW))
    return ClusterView(transport=transport, cluster=guarded, now=lambda: NOW)


def findings(view: ClusterView) -> list[Finding]:
    return [finding for check in of_cluster.CHECKS for finding in check.run(view)]


def test_a_cluster_that_serves_and_allows_everything_gives_no_finding(view: ClusterView) -> None:
    assert findings(view) == []


def right(part: str, group: str, resource: str, verb: str) -> Right:
    role = "jobledger" if part == "rayjobs" else f"jobledger-{part}"
    return Right(part=part, role=role, group=group, resource=resource, verb=verb)


def test_every_right_of_a_part_is_asked_for_once() -> None:
    found = list(rights())
    assert len(found) == len(set(found)) > 60
    assert right("rayjobs", "ray.io", "rayjobs/status", "patch") in found
    assert right("evidence", "", "pods/log", "get").words == "get pods --subresource=log"


@pytest.mark.parametrize(
    ("denied", "severity"),
    [
        (("patch", "rayjobs"), Severity.ERROR),
        (("create", "rayclusters"), Severity.ERROR),
        (("create", "events"), Severity.WARNING),
    ],
)
def test_a_missing_right_is_named(
    guarded: Guarded, view: ClusterView, denied: tuple[str, str], severity: Severity
) -> None:
    guarded.denied.add(denied)
    found = findings(view)
    assert {item.check for item in found} == {"permissions"}
    assert found[0].severity is severity
    assert f"{denied[0]} {denied[1]}" in found[0].what


@pytest.mark.parametrize(
    ("asked", "wants"),
    [
        (right("head-tokens", "", "secrets", "get"), Wants(kinds=("TrainJob",))),
        (right("mpi-keys", "", "secrets", "create"), Wants(kinds=("RayJob",))),
        (right("api-tokens", "authentication.k8s.io", "tokenreviews", "create"), Wants()),
        (right("volcano", "scheduling.volcano.sh", "podgroups", "get"), Wants()),
        (right("jobs", "batch", "jobs", "create"), Wants()),
        (right("trainjobs", "jobset.x-k8s.io", "jobsets", "get"), Wants(kinds=("RayJob",))),
        (right("rayjobs", "ray.io", "rayclusters", "create"), Wants(kinds=("TrainJob",))),
    ],
)
def test_what_the_settings_do_not_need_is_not_asked_for(asked: Right, wants: Wants) -> None:
    assert how_bad(asked, wants) is None


def test_a_recorder_is_asked_for_its_own_rights_and_told_its_own_file(
    guarded: Guarded, view: ClusterView
) -> None:
    recorder = replace(view, wants=Wants(only_records=True))
    guarded.denied.update({("patch", "rayjobs"), ("get", "configmaps"), ("list", "events")})
    (found,) = of_cluster.permissions(recorder)
    assert (found.what, found.severity) == ("may not list events", Severity.WARNING)
    assert "part evidence: kubectl apply -f ops/rbac-recorder.yaml" in found.remedy


EVERYTHING = Wants(kinds=("RayJob", "TrainJob", "Job"), reviews_tokens=True, volcano=True)


@pytest.mark.parametrize("asked", list(rights()), ids=lambda one: f"{one.part}: {one.words}")
def test_every_right_is_missed_and_its_part_is_named(
    guarded: Guarded, view: ClusterView, asked: Right
) -> None:
    guarded.denied.add((asked.verb, asked.resource.partition("/")[0]))
    told = list(of_cluster.permissions(replace(view, wants=EVERYTHING)))
    found = [item for item in told if item.what == f"may not {asked.words}"]
    assert any(f"part {asked.part}:" in one.remedy or asked.role in one.remedy for one in found)


def documents(file: Path = ROOT / "ops" / "rbac.yaml") -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text(encoding="utf-8")))


def test_secrets_are_not_cluster_wide_unless_somebody_binds_them() -> None:
    roles = {one["metadata"]["name"]: one for one in documents() if one["kind"] == "ClusterRole"}
    bound = [one["roleRef"]["name"] for one in documents() if one["kind"].endswith("Binding")]
    assert bound == [
        "jobledger",
        "jobledger-trainjobs",
        "jobledger-evidence",
        "jobledger-claims",
    ]
    for name in bound:
        resources = [item for rule in roles[name]["rules"] for item in rule["resources"]]
        assert "secrets" not in resources
        assert "*" not in resources
    assert {name for name in roles if name not in bound} == {
        "jobledger-head-tokens",
        "jobledger-mpi-keys",
        "jobledger-api-tokens",
        "jobledger-volcano",
        "jobledger-jobs",
    }


@pytest.mark.parametrize("file", sorted((ROOT / "ops").glob("*.yaml")), ids=lambda file: file.name)
def test_no_file_binds_secrets_or_everything_in_the_whole_cluster(file: Path) -> None:
    """The recorder's, the webhooks' and the progress endpoint's are applied by somebody as well."""
    found = documents(file)
    bound = {one["roleRef"]["name"] for one in found if one["kind"] == "ClusterRoleBinding"}
    rules = [
        rule
        for one in found
        if one["kind"] == "ClusterRole" and one["metadata"]["name"] in bound
        for rule in one["rules"]
    ]
    assert bound
    assert rules
    for rule in rules:
        everything = {*rule["resources"], *rule["verbs"], *rule["apiGroups"]}
        assert not {"*", "secrets", "escalate", "bind", "impersonate"} & everything


@pytest.mark.parametrize("file", ["rbac.yaml", "rbac-recorder.yaml"])
def test_every_document_names_its_part(file: str) -> None:
    for document in yaml.safe_load_all((ROOT / "ops" / file).read_text(encoding="utf-8")):
        assert document["metadata"]["labels"].keys() == {"jobledger.dev/part"}


def test_a_recorder_writes_nothing_and_reads_no_secret() -> None:
    file = ROOT / "ops" / "rbac-recorder.yaml"
    for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
        for rule in document.get("rules", []):
            assert set(rule["verbs"]) <= {"get", "list", "watch"}
            assert "secrets" not in rule["resources"]


@pytest.mark.parametrize("seconds", [-30, 30])
def test_a_clock_that_is_off_is_told(view: ClusterView, seconds: int) -> None:
    off = cast("Transport", Dated(NOW + timedelta(seconds=seconds)))
    (found,) = findings(replace(view, transport=off))
    assert (found.check, found.severity) == ("api-clock", Severity.WARNING)


@pytest.mark.parametrize(
    ("resource", "severity"), [(RAYCLUSTERS, Severity.ERROR), (JOBSETS, Severity.WARNING)]
)
def test_a_kind_that_is_not_served_is_told(
    guarded: Guarded, view: ClusterView, resource: Resource, severity: Severity
) -> None:
    guarded.unserved.add(resource)
    (found,) = findings(view)
    assert (found.check, found.severity) == ("definitions", severity)
    assert "is not served" in found.what


def test_a_cluster_without_kuberay_is_only_warned_of(guarded: Guarded, view: ClusterView) -> None:
    guarded.unserved |= {RAYJOBS, RAYCLUSTERS}
    assert {item.severity for item in findings(view)} == {Severity.WARNING}


@pytest.mark.parametrize("kinds", [("RayJob", "TrainJob"), ("RayJob",), ("TrainJob",)])
def test_where_no_kind_of_job_is_served_nothing_can_be_done(
    guarded: Guarded, view: ClusterView, kinds: tuple[str, ...]
) -> None:
    guarded.unserved |= {RAYJOBS, RAYCLUSTERS, TRAINJOBS, JOBSETS}
    found = findings(replace(view, wants=replace(view.wants, kinds=kinds)))
    told = [item.severity for item in found if item.check == "definitions"]
    assert told == [Severity.ERROR] * 2 * len(kinds)


def test_fields_that_a_definition_prunes_are_named(guarded: Guarded, view: ClusterView) -> None:
    name = "rayjobs.ray.io"
    definition: Any = guarded.get(CRDS, "", name)
    for version in definition["spec"]["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["failed"]
    guarded.replace(CRDS, definition)
    (found,) = findings(view)
    assert found.what == "the definition of rayjobs prunes status.failed"


def test_definitions_that_may_not_be_read_are_only_noted(
    guarded: Guarded, view: ClusterView
) -> None:
    guarded.hides_definitions = True
    assert {item.severity for item in findings(view)} == {Severity.NOTE}


def test_another_controller_is_named_once_per_namespace(
    guarded: Guarded, view: ClusterView
) -> None:
    for name in ("one", "two"):
        guarded.create(RAYJOBS, {"metadata": {"name": name, "namespace": "ml"}})
    refusal = Refusal(kind="RayJob", namespace="ml", job="one", manager="kuberay", written_at=NOW)
    (found,) = findings(replace(view, refusal=lambda *_: refusal))
    assert (found.check, found.severity) == ("other-controllers", Severity.ERROR)
    assert "--take-over" in found.remedy
    unsure = replace(view, refusal=lambda *_: refusal, knows_own=False)
    (found,) = findings(unsure)
    assert (found.check, found.severity) == ("other-controllers", Severity.NOTE)
    assert "only the ledger tells" in found.remedy


def owned(name: str, owner: str, **more: str) -> Manifest:
    reference = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "train", "uid": owner}
    return {
        "metadata": {"name": name, "namespace": "ml", "ownerReferences": [reference], **more},
    }


class Fixed(MemoryCluster):
    """Keeps what it was given, whoever owns it."""

    def __init__(self, *objects: tuple[Resource, Manifest]) -> None:
        super().__init__()
        self._given = objects

    def list(self, resource: Resource, namespace: str = "", label_selector: str = "") -> ObjectList:
        del namespace, label_selector
        found: Sequence[Manifest] = [item for kind, item in self._given if kind == resource]
        return ObjectList(items=found, resource_version="1")


TRAIN: Manifest = {"metadata": {"name": "train", "namespace": "ml", "uid": "u"}}


def asked(view: Objects) -> Iterator[Finding]:
    for check in leaks.CHECKS:
        yield from check.run(view)


def test_objects_of_jobs_that_are_there_are_no_leaks() -> None:
    fine = (RAYJOBS, TRAIN), (RAYCLUSTERS, owned("c", "u", uid="1")), (BATCH_JOBS, owned("b", "u"))
    assert list(asked(Objects(cluster=Fixed(*fine)))) == []


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([(RAYCLUSTERS, owned("c", "x", uid="1"))], "belongs to RayJob train, which is gone"),
        ([(BATCH_JOBS, owned("b", "x", uid="1"))], "belongs to RayJob train, which is gone"),
    ],
)
def test_what_outlives_its_job_is_named(
    objects: list[tuple[Resource, Manifest]], said: str
) -> None:
    (found,) = asked(Objects(cluster=Fixed((RAYJOBS, TRAIN), *objects)))
    assert (found.check, found.severity) == ("leaked-objects", Severity.WARNING)
    assert said in found.what
    assert "start the service" in found.remedy


def test_what_is_left_of_a_job_that_is_over_is_named() -> None:
    left = Fixed((RAYJOBS, TRAIN), (RAYCLUSTERS, owned("c", "u", uid="1")))
    (found,) = asked(Objects(cluster=left, over=lambda: {"u": "RayJob ml/train"}))
    assert found.what == "RayCluster ml/c is there, and RayJob ml/train is over"


def test_what_is_being_deleted_or_goes_before_the_second_look_is_no_leak() -> None:
    leaving = owned("c", "x", uid="1", deletionTimestamp="2026-11-22T12:00:00Z")
    assert list(asked(Objects(cluster=Fixed((RAYCLUSTERS, leaving))))) == []
    collected = Fixed((RAYCLUSTERS, owned("c", "x", uid="1")))

    def collect(_: float) -> None:
        collected.__init__()  # type: ignore[misc]  # nothing is left

    assert list(asked(Objects(cluster=collected, pause=collect))) == []


def test_two_live_clusters_of_a_job_are_an_error() -> None:
    two = [(RAYCLUSTERS, owned(name, "u", uid=name)) for name in ("c", "d")]
    (found,) = asked(Objects(cluster=Fixed((RAYJOBS, TRAIN), *two)))
    assert (found.check, found.severity) == ("one-live-cluster", Severity.ERROR)
    assert text(TRAIN, "metadata", "name") in found.what


def a_claim(owner: str, since: str, database: str, **told: Any) -> Manifest:  # noqa: ANN401
    claim = Claim(
        name=f"jobledger-{owner}",
        owner=owner,
        since=since,
        standing=Standing.ACTING,
        database=database,
        kinds=("RayJob",),
        **told,
    )
    return manifest_of(claim, "jobledger", 15, NOW)


def test_another_ledger_is_told(view: ClusterView, guarded: Guarded) -> None:
    metadata: Manifest = {"name": "jobledger"}
    guarded.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    for owner, since, database in (("a", "1", "one"), ("b", "2", "one"), ("c", "3", "two")):
        guarded.create(LEASES, a_claim(owner, since, database, origin="same"))
    assert findings(replace(view, claim_namespace="elsewhere")) == []
    late = replace(view, now=lambda: NOW + timedelta(minutes=1))
    assert [one for one in findings(late) if one.check == "other-ledgers"] == []
    told = findings(view)
    assert {(one.check, one.severity) for one in told} == {("other-ledgers", Severity.ERROR)}
    assert [one.what for one in told] == [
        f"{owner} (Acting since {since}) and c (Acting since 3) would control the same jobs; "
        f"that of c is a copy of that of {owner}, as long as that one"
        for owner, since in (("a", "1"), ("b", "2"))
    ]
