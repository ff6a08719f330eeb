"""Admission webhooks that a real API server calls, with the rights of `ops/webhooks.yaml`."""

import base64
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jobledger.adapters.admission.certificates import VALID, Certificate
from jobledger.adapters.admission.kept_certificate import ForeignSecret, KeptCertificate
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant
from tests.adapters.real_api import webhook_rights as rights
from tests.rules.jobs.test_admission import RUNTIME, trainjob
from tests.support.api import RAYJOBS, Api, own_namespace, rayjob
from tests.support.apiserver import ApiServer
from tests.support.processes import jobledger_command
from tests.support.waiting import wait_until

Document = dict[str, Any]

SECRETS, SECRET = "v1/secrets", "jobledger-webhooks-tls"
TRAINJOBS = "trainer.kubeflow.org/v1alpha1/trainjobs"
RUNTIMES = "trainer.kubeflow.org/v1alpha1/trainingruntimes"
CLOCK = SystemClock()
START_SECONDS, STOP_SECONDS = 90.0, 60.0


@dataclass(frozen=True, slots=True)
class Site:
    """A namespace with webhooks, and the account that they run as."""

    api: Api
    kubeconfig: Path
    cluster: KubernetesCluster

    def kept(self, now: Callable[[], Instant] = CLOCK.now) -> KeptCertificate:
        """Return the certificate of one replica."""
        return KeptCertificate(
            cluster=self.cluster,
            now=now,
            namespace=self.api.namespace,
            service="jobledger-webhooks",
            configuration=self.api.namespace,
        )

    def trusted(self, kind: str) -> set[str]:
        """Return whom the webhooks of a configuration trust."""
        path = f"{rights.place(self.api, kind)}/{self.api.namespace}"
        hooks = self.api.request("GET", path).body["webhooks"]
        return {base64.b64decode(hook["clientConfig"]["caBundle"]).decode() for hook in hooks}


@pytest.fixture
def site(api_server: ApiServer, tmp_path: Path) -> Iterator[Site]:
    admin = api_server.api()
    with own_namespace(admin) as api:
        rights.install(api)
        path = rights.kubeconfig(api_server, api, tmp_path)
        cluster = rights.cluster(path)
        rights.wait_for_rights(cluster, api.namespace)
        yield Site(api, path, cluster)
        rights.remove(api)
    admin.pool.clear()


def test_replicas_share_one_certificate_and_renew_it_once(site: Site) -> None:
    first = site.kept().read()
    assert site.kept().read() == first
    assert all(site.trusted(kind) == {first.trusted} for kind in rights.CONFIGURATIONS)
    near_its_end = CLOCK.now() + VALID - timedelta(days=1)
    second = site.kept(lambda: near_its_end).read()
    assert second.chain != first.chain
    assert first.trusted in second.trusted
    assert site.kept(lambda: near_its_end).read() == second
    assert all(site.trusted(kind) == {second.trusted} for kind in rights.CONFIGURATIONS)


def test_of_two_that_make_one_at_once_one_wins(site: Site) -> None:
    winner: list[Certificate] = []
    ask = site.cluster.get

    class Late(KubernetesCluster):
        """Looks, and before it acts another has acted."""

        def get(self, *where: Any) -> Manifest | None:  # noqa: ANN401 passed on as it comes
            found = ask(*where)
            if not winner:
                winner.append(site.kept().read())
            return found

    late = KeptCertificate(
        cluster=Late(site.cluster._transport),  # noqa: SLF001  # the same account
        now=CLOCK.now,
        namespace=site.api.namespace,
        service="jobledger-webhooks",
        configuration=site.api.namespace,
    )
    assert late.read() == winner[0]


def test_what_somebody_else_has_made_is_left_alone(site: Site) -> None:
    theirs = {"metadata": {"name": SECRET}, "stringData": {"tls.crt": "theirs"}}
    assert site.api.create(SECRETS, theirs).code == 201
    path = f"{rights.place(site.api, rights.CONFIGURATIONS[0])}/{site.api.namespace}"
    unmarked = site.api.request("GET", path).body
    del unmarked["metadata"]["labels"]
    assert site.api.request("PUT", path, unmarked).code == 200
    with pytest.raises(ForeignSecret, match="--cert-dir"):
        site.kept().read()
    kept = site.api.get(SECRETS, SECRET).body
    assert base64.b64decode(kept["data"]["tls.crt"]) == b"theirs"
    assert site.api.delete(SECRETS, SECRET).code == 200
    trusted = site.kept().read().trusted
    assert "caBundle" not in site.api.request("GET", path).body["webhooks"][0]["clientConfig"]
    assert site.trusted(rights.CONFIGURATIONS[1]) == {trusted}


@contextmanager
def webhooks(site: Site, directory: Path) -> Iterator[str]:
    """Run `jobledger webhooks`; give its port, and see that it ends when it is asked to."""
    ready = directory / "ready"
    words = [*jobledger_command(), "webhooks", "--host", "127.0.0.1", "--port", "0"]
    words += ["--kubeconfig", str(site.kubeconfig), "--namespace", site.api.namespace]
    words += ["--configuration", site.api.namespace, "--dns-name", "localhost"]
    words += ["--ready-file", str(ready)]
    process = subprocess.Popen(words, cwd=directory, stdout=subprocess.DEVNULL)
    try:
        wait_until(
            lambda: ready.exists() and ready.read_text() != "", "webhooks are served", START_SECONDS
        )
        yield ready.read_text().rpartition(":")[2]
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_SECONDS) == 0
    finally:
        process.kill()
        process.wait()


def named(document: Document, name: str) -> Document:
    return {**document, "metadata": {"name": name}}


def test_the_api_server_asks_before_it_takes_anything_in(site: Site, tmp_path: Path) -> None:
    with webhooks(site, tmp_path) as port:
        rights.call_at(site.api, f"https://localhost:{port}")
        wait_until(
            lambda: site.api.create(RAYJOBS, rayjob("1-bad"), dryRun="All").code == 403,
            "the API server has heard of the webhooks",
        )
        refused = site.api.create(RAYJOBS, rayjob("1-bad"))
        assert refused.message.startswith(
            'admission webhook "rayjobs.jobledger.dev" denied the request: '
            'RayJob.ray.io "1-bad" is invalid: metadata.name: Invalid value: "1-bad": '
        )
        warned = site.api.create(RAYJOBS, rayjob("warned", ttlSecondsAfterFinished=5))
        assert warned.code == 201, warned.message
        assert "cannot have TTLSecondsAfterFinished" in warned.headers["Warning"]
        assert site.api.create(RAYJOBS, rayjob("fine")).headers.get("Warning") is None
        check_trainjobs(site.api)
    after = site.api.create(RAYJOBS, rayjob("1-bad"))
    assert after.code == 201, "webhooks that are away keep nobody from working"


def check_trainjobs(api: Api) -> None:
    reference = {"name": "plain", "kind": "TrainingRuntime"}
    job = named(trainjob(runtimeRef=reference, runtimePatches=[{"manager": "acme.io/x"}]), "train")
    wait_until(
        lambda: (
            "TrainingRuntime specified in TrainJob is not found: plain"
            in api.create(TRAINJOBS, job, dryRun="All").message
        ),
        "a TrainJob without its runtime is refused",
    )
    runtime = {**RUNTIME, "kind": "TrainingRuntime"}
    (replicated,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    wrong = named(runtime, "wrong")
    wrong["spec"] = {
        **runtime["spec"],
        "template": {"spec": {"replicatedJobs": [{**replicated, "replicas": 2}]}},
    }
    assert "always must be 1" in api.create(RUNTIMES, wrong).message
    assert api.create(RUNTIMES, named(runtime, "plain")).code == 201
    made = api.create(TRAINJOBS, job)
    assert made.code == 201, made.message
    assert made.body["spec"]["runtimePatches"][0]["time"].endswith("Z")
    other = {"spec": {"runtimePatches": [{"manager": "acme.io/y"}]}}
    assert "suspended" in api.merge(TRAINJOBS, "train", other).message
    assert api.merge(TRAINJOBS, "train", {"spec": {"suspend": True} | other["spec"]}).code == 200
