"""kubectl works with the sandbox as with a real API server, and prints what people know."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from jobledger.sandbox.api_server import SandboxApi
from jobledger.sandbox.kubeconfig import write_kubeconfig
from tests.support.api import WAIT_SECONDS, own_namespace, rayjob
from tests.support.apiserver import ApiServer
from tests.support.kubectl import KUBECTL, needs_kubectl

pytestmark = [
    pytest.mark.kubectl,
    needs_kubectl,
]

Kubectl = Callable[..., str]


def _environment(folder: Path) -> dict[str, str]:
    return os.environ | {"KUBECONFIG": str(folder / "kubeconfig"), "HOME": str(folder)}


@pytest.fixture(params=["sandbox", pytest.param("apiserver", marks=pytest.mark.apiserver)])
def namespace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A namespace of the sandbox or of a real API server, which kubectl is told to use."""
    if request.param == "sandbox":
        server: SandboxApi = request.getfixturevalue("server")
        write_kubeconfig(tmp_path / "kubeconfig", server.url)
        yield "default"
        return
    real: ApiServer = request.getfixturevalue("api_server")
    client = real.api()
    with own_namespace(client) as api:
        config = yaml.safe_load(real.kubeconfig().read_text())
        config["contexts"][0]["context"]["namespace"] = api.namespace
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        yield api.namespace
    client.pool.clear()


@pytest.fixture
def kubectl(namespace: str, tmp_path: Path) -> Kubectl:
    del namespace  # the kubeconfig names it

    def run(*arguments: str, code: int = 0) -> str:
        assert KUBECTL
        done = subprocess.run(
            [KUBECTL, *arguments],
            env=_environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(rayjob("a")), encoding="utf-8")
    return file


def test_apply_creates_then_leaves_alone_then_configures(kubectl: Kubectl, manifest: Path) -> None:
    apply = ("apply", "-f", str(manifest))
    assert kubectl(*apply) == "rayjob.ray.io/a created\n"
    assert kubectl(*apply) == "rayjob.ray.io/a unchanged\n"
    manifest.write_text(yaml.safe_dump(rayjob("a", suspend=True)), encoding="utf-8")
    assert kubectl(*apply) == "rayjob.ray.io/a configured\n"
    assert kubectl("get", "rayjob", "a", "-o", "jsonpath={.spec.suspend}") == "true"


def test_get_shows_the_columns_of_the_definition(kubectl: Kubectl, manifest: Path) -> None:
    kubectl("apply", "-f", str(manifest))
    status = json.dumps({"status": {"jobStatus": "RUNNING", "jobDeploymentStatus": "Running"}})
    kubectl("patch", "rayjob", "a", "--subresource=status", "--type=merge", "-p", status)
    heading, row = kubectl("get", "rayjobs").splitlines()
    assert heading.split("  ")[0] == "NAME"
    words = " ".join(heading.split())
    told = "NAME JOB STATUS DEPLOYMENT STATUS RAY CLUSTER NAME START TIME END TIME AGE"
    assert words == told
    assert row.split()[:3] == ["a", "RUNNING", "Running"]


def test_get_watch_prints_each_change(kubectl: Kubectl, manifest: Path, tmp_path: Path) -> None:
    kubectl("apply", "-f", str(manifest))
    assert KUBECTL
    with subprocess.Popen(
        [KUBECTL, "get", "rayjobs", "-w"],
        env=_environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout
        lines = [watching.stdout.readline(), watching.stdout.readline()]
        patch = '{"status":{"jobStatus":"SUCCEEDED"}}'
        kubectl("patch", "rayjob", "a", "--subresource=status", "--type=merge", "-p", patch)
        lines.append(watching.stdout.readline())
        watching.terminate()
    assert [line.split()[0] for line in lines] == ["NAME", "a", "a"]
    assert lines[2].split()[1] == "SUCCEEDED"


def test_delete_waits_until_the_object_is_gone(kubectl: Kubectl, manifest: Path) -> None:
    kubectl("apply", "-f", str(manifest))
    assert kubectl("delete", "-f", str(manifest)).startswith('rayjob.ray.io "a" deleted')
    assert "NotFound" in kubectl("get", "rayjob", "a", code=1)


def test_server_side_apply_tells_conflicts_in_kubectls_words(
    kubectl: Kubectl, manifest: Path
) -> None:
    kubectl("apply", "--server-side", "-f", str(manifest))
    manifest.write_text(yaml.safe_dump(rayjob("a", entrypoint="other")), encoding="utf-8")
    other = ("apply", "--server-side", "--field-manager=other", "-f", str(manifest))
    told = kubectl(*other, code=1)
    assert 'conflict with "kubectl": .spec.entrypoint' in told
    assert kubectl(*other, "--force-conflicts") == "rayjob.ray.io/a serverside-applied\n"


def test_describe_shows_the_kubernetes_events_of_an_object(
    kubectl: Kubectl, namespace: str, manifest: Path, tmp_path: Path
) -> None:
    kubectl("apply", "-f", str(manifest))
    uid = kubectl("get", "rayjob", "a", "-o", "jsonpath={.metadata.uid}")
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a.1", "namespace": namespace},
        "eventTime": "2026-11-20T10:00:00.000000Z",
        "reportingController": "jobledger",
        "reportingInstance": "one",
        "action": "Create",
        "reason": "CreatedRayCluster",
        "regarding": {"kind": "RayJob", "namespace": namespace, "name": "a", "uid": uid},
        "note": "Created RayCluster a-x",
        "type": "Normal",
    }
    file = tmp_path / "event.json"
    file.write_text(json.dumps(event), encoding="utf-8")
    kubectl("create", "-f", str(file))
    told = kubectl("describe", "rayjob", "a")
    assert "CreatedRayCluster" in told
    assert "Created RayCluster a-x" in told


def test_mistakes_are_told_field_by_field(kubectl: Kubectl, manifest: Path) -> None:
    wrong = rayjob("a", backoffLimit="x", preRunningDeadlineSeconds=0)
    manifest.write_text(yaml.safe_dump(wrong), encoding="utf-8")
    told = kubectl("create", "-f", str(manifest), code=1)
    assert 'The RayJob "a" is invalid' in told
    assert "* spec.backoffLimit: Invalid value" in told
    assert "* spec.preRunningDeadlineSeconds: Invalid value: 0" in told


def test_api_resources_and_explain_know_our_kinds(kubectl: Kubectl) -> None:
    assert "ray.io/v1" in kubectl("api-resources", "--api-group=ray.io")
    assert "FIELD: backoffLimit <integer>" in kubectl("explain", "rayjob.spec.backoffLimit")


def test_edit_changes_an_object(
    kubectl: Kubectl, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl("apply", "-f", str(manifest))
    monkeypatch.setenv("KUBE_EDITOR", "sed -i s/work.py/play.py/")
    assert kubectl("edit", "rayjob", "a") == "rayjob.ray.io/a edited\n"
    assert "play.py" in kubectl("get", "rayjob", "a", "-o", "yaml")


@pytest.mark.parametrize("namespace", ["sandbox"], indirect=True)
def test_what_kubectl_makes_up_itself_is_created(kubectl: Kubectl) -> None:
    """Most of it: kubectl sends that as protobuf, which the sandbox knows of a few kinds only."""
    assert kubectl("create", "namespace", "team") == "namespace/team created\n"
    place = ("-n", "team")
    kubectl("create", "configmap", "c", "--from-literal=key=a value", *place)
    kubectl("create", "secret", "generic", "s", "--from-literal=password=hidden", *place)
    kubectl("create", "serviceaccount", "a", *place)
    found = ("get", "-o", "jsonpath={.data}", *place)
    assert kubectl(*found, "configmap", "c") == '{"key":"a value"}'
    assert kubectl(*found, "secret", "s") == '{"password":"aGlkZGVu"}'
    told = kubectl("create", "job", "j", "--image=i", *place, code=1)
    assert "the body of the request was in an unknown format" in told
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert 'namespace "team" deleted' in kubectl("delete", "namespace", "team")


def test_a_list_in_a_file_is_applied_as_what_it_holds(kubectl: Kubectl, tmp_path: Path) -> None:
    """As `kubectl get -o yaml` prints several objects; kubectl asks for other documents then."""
    maps = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": name}}
        for name in ("one", "two")
    ]
    file = tmp_path / "list.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": maps}))
    told = kubectl("apply", "-f", str(file))
    assert told.splitlines() == ["configmap/one created", "configmap/two created"]


@pytest.mark.parametrize(
    "words",
    [("exec", "p", "--", "ls"), ("attach", "p"), ("port-forward", "pod/p", "18080:8080")],
    ids=["exec", "attach", "port-forward"],
)
def test_the_sandbox_says_what_it_does_not_do_within_pods(
    server: SandboxApi, words: tuple[str, ...], tmp_path: Path
) -> None:
    assert KUBECTL
    write_kubeconfig(tmp_path / "kubeconfig", server.url)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }
    (tmp_path / "pod.json").write_text(json.dumps(pod), encoding="utf-8")

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [KUBECTL, *arguments],
            env=_environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )

    assert run("create", "-f", str(tmp_path / "pod.json")).returncode == 0
    running = json.dumps({"status": {"phase": "Running"}})
    assert run("patch", "pod", "p", "--subresource=status", "-p", running).returncode == 0
    told = run(*words)
    assert told.returncode == 1
    assert "the sandbox does no exec, attach or port-forward" in told.stderr
