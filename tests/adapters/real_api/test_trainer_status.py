"""Progress that Pods post to `jobledger trainer-status`, judged by a real API server.

With the rights of `ops/trainer-status.yaml`; the Pods are those of real JobSets and Jobs.
"""

import json
import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import urllib3

from jobledger.adapters.kinds.trainjob.progress.checks import authority
from jobledger.adapters.kube.checks.cluster import ClusterView
from jobledger.adapters.kube.checks.rights import Wants
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.progress_wiring import VALID
from jobledger.core.forensics.findings import Severity
from jobledger.core.trainjob.reports import AUDIENCE
from jobledger.core.values.instants import rfc3339
from tests.acceptance.trainjobs import trainjob
from tests.acceptance.witness import JOBSETS, TRAINJOBS
from tests.adapters.real_api import webhook_rights as rights
from tests.support.api import CONFIGMAPS, PODS, Api, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.processes import jobledger_command
from tests.support.waiting import wait_until

Document = dict[str, Any]

FILE = Path(__file__).resolve().parents[3] / "ops" / "trainer-status.yaml"
ACCOUNT = "jobledger-trainer-status"
AS_DEFAULT = {"serviceAccountName": "default"}
"""What admission fills in, which this API server leaves out."""
START_SECONDS, STOP_SECONDS, SEEN_SECONDS = 120.0, 60.0, 120.0
REPORT = {
    "progressPercentage": 45,
    "estimatedRemainingSeconds": 3600,
    "metrics": [{"name": "loss", "value": "0.25"}],
    "lastUpdatedTime": "2026-11-21T12:00:00Z",
}


@dataclass(frozen=True, slots=True)
class Site:
    """A namespace in which two TrainJobs run, `fit` and `other`, and the endpoint."""

    api: Api
    url: str
    pool: urllib3.PoolManager
    directory: Path
    kubeconfig: Path

    def audience(self, job: str = "fit", namespace: str = "") -> str:
        """Return the audience of a job's tokens."""
        return AUDIENCE.format(namespace=namespace or self.api.namespace, name=job)

    def token(self, audience: str, pod: Document | None = None) -> str:
        """Return a token as the kubelet gives a Pod one; without a Pod, as anybody gets one."""
        spec: Document = {"audiences": [audience], "expirationSeconds": 3600}
        if pod is not None:
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            spec["boundObjectRef"] = {"kind": "Pod", "apiVersion": "v1", "name": name, "uid": uid}
        path = f"/api/v1/namespaces/{self.api.namespace}/serviceaccounts/default/token"
        made = self.api.request("POST", path, {"spec": spec})
        assert made.code == 201, made.message
        return str(made.body["status"]["token"])

    def post(self, token: str, body: object = None, job: str = "fit") -> tuple[int, Document]:
        """Post as a Pod does; return the code and the answer."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = f"{self.url}/apis/{self.audience(job)}"
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        reply = self.pool.request("POST", url, body=sent, headers=headers, retries=False)
        return reply.status, reply.json()

    def shown(self, job: str = "fit") -> Document:
        """Return the status of a job."""
        return dict(self.api.get(TRAINJOBS, job).body.get("status") or {})

    def pod_of(self, job: str) -> Document:
        """Return the Pod of a job, once its Job has made it."""
        found: list[Document] = []

        def is_there() -> bool:
            path = f"/api/v1/namespaces/{self.api.namespace}/pods"
            pods = self.api.request("GET", path).body["items"]
            found[:] = [one for one in pods if one["metadata"]["name"].startswith(f"{job}-")]
            return bool(found)

        wait_until(is_there, f"{job} has a Pod", SEEN_SECONDS)
        return found[0]


def run(api: Api, name: str) -> None:
    """Make a TrainJob and the JobSet that a controller makes of it."""
    made = api.create(TRAINJOBS, trainjob(name))
    assert made.code == 201, made.message
    owner = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "name": name,
        "uid": made.body["metadata"]["uid"],
        "controller": True,
    }
    container = {"name": "node", "image": "busybox", "command": ["true"]}
    of_pod = {**AS_DEFAULT, "restartPolicy": "Never", "containers": [container]}
    job = {"name": "node", "replicas": 1, "template": {"spec": {"template": {"spec": of_pod}}}}
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"replicatedJobs": [job]},
    }
    reply = api.create(JOBSETS, jobset)
    assert reply.code == 201, reply.message


@contextmanager
def served(
    api: Api, kubeconfig: Path, directory: Path
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run the endpoint; yield its process and where it is served."""
    ready = directory / f"ready-{uuid.uuid4().hex}"
    words = [*jobledger_command(), "trainer-status", "--host", "127.0.0.1", "--port", "0"]
    words += ["--kubeconfig", str(kubeconfig), "--namespace", api.namespace]
    words += ["--dns-name", "localhost", "--ready-file", str(ready)]
    process = subprocess.Popen(words, cwd=directory, stdout=subprocess.DEVNULL)
    try:
        wait_until(
            lambda: ready.exists() and ready.read_text() != "", "it is served", START_SECONDS
        )
        yield process, f"https://localhost:{ready.read_text().rpartition(':')[2]}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def site(jobset_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    tmp_path = tmp_path_factory.mktemp("trainer-status")
    admin = jobset_server.api()
    with own_namespace(admin) as api:
        rights.install(api, FILE)
        path = rights.kubeconfig(jobset_server, api, tmp_path, ACCOUNT)
        rights.wait_for_rights(rights.cluster(path), api.namespace, f"{ACCOUNT}-tls")
        for name in ("fit", "other"):
            run(api, name)
        try:
            with served(api, path, tmp_path) as (process, url):
                authority = tmp_path / "ca.crt"
                told = api.get(CONFIGMAPS, f"{ACCOUNT}-ca").body["data"]["ca.crt"]
                authority.write_text(told)
                pool = urllib3.PoolManager(ca_certs=str(authority), timeout=60.0)
                yield Site(api, url, pool, tmp_path, path)
                process.send_signal(signal.SIGTERM)
                assert process.wait(STOP_SECONDS) == 0
        finally:
            rights.remove(api, ("ClusterRole", "ClusterRoleBinding"))
    admin.pool.clear()


def test_what_a_pod_reports_stands_in_the_status_of_its_trainjob(site: Site) -> None:
    token = site.token(site.audience(), site.pod_of("fit"))
    code, said = site.post(token, {"trainerStatus": REPORT})
    assert (code, said) == (200, {"trainerStatus": REPORT})
    assert site.shown()["trainerStatus"] == REPORT
    entries = site.api.get(TRAINJOBS, "fit").body["metadata"]["managedFields"]
    assert "trainer-status" in {entry["manager"] for entry in entries}
    newer = {"progressPercentage": 46, "lastUpdatedTime": "2026-11-21T12:01:00Z"}
    assert site.post(token, {"trainerStatus": newer})[0] == 200
    wait_until(
        lambda: site.shown()["trainerStatus"] == newer, "the newer takes its place whole", 60.0
    )
    assert site.post(token, {}) == (200, {})


def test_what_was_answered_survives_a_sigkill_at_that_moment(site: Site) -> None:
    run(site.api, "killed")
    token = site.token(site.audience("killed"), site.pod_of("killed"))
    with served(site.api, site.kubeconfig, site.directory) as (process, url):
        here = replace(site, url=url)
        reports = [{**REPORT, "progressPercentage": number} for number in range(1, 5)]
        for report in reports:
            assert here.post(token, {"trainerStatus": report}, "killed")[0] == 200
        process.kill()
        process.wait()
    assert site.shown("killed")["trainerStatus"] == reports[-1]


def test_doctor_finds_no_fault_with_the_authority_that_is_told(site: Site) -> None:
    wants = Wants(status_url=site.url, status_authority=(site.api.namespace, f"{ACCOUNT}-ca"))
    transport = connect(ConnectionSettings(kubeconfig=str(site.kubeconfig)))
    cluster, now = KubernetesCluster(transport), datetime.now(UTC)
    view = ClusterView(transport=transport, cluster=cluster, now=lambda: now, wants=wants)
    assert list(authority(view)) == []
    late = replace(view, now=lambda: now + VALID - timedelta(days=3))
    (found,) = authority(late)
    assert (found.severity, "in 2 days" in found.what) == (Severity.WARNING, True)


def test_an_older_report_does_not_replace_the_newer_one_of_another_replica(site: Site) -> None:
    run(site.api, "twice")
    token = site.token(site.audience("twice"), site.pod_of("twice"))
    noon = datetime.now(UTC) - timedelta(hours=1)
    older, newer, newest = (
        {"progressPercentage": count, "lastUpdatedTime": rfc3339(noon + timedelta(seconds=count))}
        for count in (1, 3, 4)
    )
    with served(site.api, site.kubeconfig, site.directory) as (_, url):
        other = replace(site, url=url)
        assert other.post(token, {"trainerStatus": newer}, "twice")[0] == 200
        assert site.post(token, {"trainerStatus": older}, "twice")[0] == 200
        assert site.shown("twice")["trainerStatus"] == newer
        assert site.post(token, {"trainerStatus": newest}, "twice")[0] == 200
        assert site.shown("twice")["trainerStatus"] == newest


def test_a_pod_speaks_only_for_its_own_trainjob(site: Site) -> None:
    fit, other = site.pod_of("fit"), site.pod_of("other")
    container = {"name": "node", "image": "busybox"}
    labels = dict(fit["metadata"]["labels"])
    spec = {**AS_DEFAULT, "containers": [container]}
    document = {"metadata": {"name": "stranger", "labels": labels}, "spec": spec}
    stranger = site.api.create(PODS, document)
    assert stranger.code == 201, stranger.message
    body = {"trainerStatus": REPORT}
    tokens = {
        "another job's Pod": site.token(site.audience(), other),
        "another job's token": site.token(site.audience("other"), other),
        "a Pod with the labels of one": site.token(site.audience(), stranger.body),
        "a token that is no Pod's": site.token(site.audience()),
        "a token for the API server": site.token("https://kubernetes.default.svc", fit),
        "a token for another namespace": site.token(site.audience(namespace="elsewhere"), fit),
        "no token of Kubernetes": "eyJhbGciOiJub25lIn0.e30.",
        "no token": "",
    }
    before = site.shown(), site.shown("other")
    refused = {who: site.post(token, body)[0] for who, token in tokens.items()}
    assert refused == dict.fromkeys(tokens, 403)
    assert (site.shown(), site.shown("other")) == before


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b"{", 422, "Invalid payload"),
        (b'{"trainerStatus": {"progressPercentage": NaN}}', 422, "Invalid payload"),
        (b"[" * 60_000, 422, "Invalid payload"),
        (b" " * 65_537, 413, "Payload too large"),
        ({"trainerStatus": {"progressPercentage": 2**63}}, 422, "a whole number from 0 to 100"),
        ({"trainerStatus": {}}, 422, "lastUpdatedTime is required"),
    ],
    ids=["cut off", "NaN", "deep", "large", "huge number", "no time"],
)
def test_what_cannot_be_taken_is_answered_in_words(
    site: Site, body: object, code: int, message: str
) -> None:
    token = site.token(site.audience(), site.pod_of("fit"))
    before = site.shown()
    found, said = site.post(token, body)
    assert (found, said["status"], said["code"]) == (code, "Failure", code)
    assert message in said["message"]
    assert site.shown() == before
