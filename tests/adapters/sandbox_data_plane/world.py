"""A data plane over an API server in memory, and short ways to say what a test puts into it."""

import json
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from jobledger.core.ports.cluster import PODS, RAYCLUSTERS, Resource
from jobledger.sandbox.agent.logs import LOG_ANNOTATION
from jobledger.sandbox.data_plane import DataPlane
from tests.support.memory_cluster import MemoryCluster
from tests.support.waiting import wait_until

Document = dict[str, Any]


class World:
    """One API server and one data plane."""

    def __init__(self, work_dir: Path) -> None:
        self.api = MemoryCluster()
        self.work_dir = work_dir
        self.plane = DataPlane(self.api, self.api, work_dir=work_dir)

    def create(self, resource: Resource, document: Document) -> Document:
        return dict(self.api.create(resource, document))

    def get(self, resource: Resource, name: str) -> Document | None:
        found = self.api.get(resource, "default", name)
        return None if found is None else dict(found)

    def status(self, resource: Resource, name: str) -> Document:
        found: Document = (self.get(resource, name) or {}).get("status", {})
        return found

    def phase(self, name: str) -> str:
        return str(self.status(PODS, name).get("phase", ""))

    def container(self, name: str, position: int = 0) -> Document:
        found: list[Document] = self.status(PODS, name).get("containerStatuses", [])
        return found[position] if found else {}

    def wait_for_phase(self, name: str, phase: str) -> Document:
        wait_until(lambda: self.phase(name) == phase, f"Pod {name} is {phase}")
        return self.status(PODS, name)

    def wait_for_condition(self, resource: Resource, name: str, kind: str) -> Document:
        wait_until(
            lambda: kind in true_conditions(self.status(resource, name)), f"{name} is {kind}"
        )
        return self.status(resource, name)

    def pods(self, selector: str = "") -> list[Document]:
        return [dict(pod) for pod in self.api.list(PODS, "default", selector).items]

    def wait_until_ready(self, name: str) -> Document:
        wait_until(
            lambda: self.status(RAYCLUSTERS, name).get("state") == "ready", f"{name} is ready"
        )
        return self.status(RAYCLUSTERS, name)

    def log(self, name: str, **query: str) -> str:
        annotations = (self.get(PODS, name) or {})["metadata"]["annotations"]
        words = "&".join(f"{key}={value}" for key, value in query.items())
        return fetch(f"{annotations[LOG_ANNOTATION]}?{words}")[1]

    def processes(self) -> list[psutil.Process]:
        """Return the processes of this data plane's Pods that run."""
        return [one for one in psutil.process_iter() if self._is_ours(one)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            root = process.environ().get("JOBLEDGER_SANDBOX_ROOT", "")
            return root.startswith(str(self.work_dir)) and process.status() != "zombie"
        except psutil.Error:
            return False


def true_conditions(status: Mapping[str, Any]) -> list[str]:
    return [one["type"] for one in status.get("conditions", []) if one["status"] == "True"]


def shell(script: str, **more: object) -> Document:
    """Return a container that runs a shell script."""
    return {"name": "main", "image": "x", "command": ["/bin/sh", "-c", script], **more}


def pod(name: str, *containers: Document, **spec: object) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"restartPolicy": "Never", "containers": list(containers), **spec},
    }


def batch_job(name: str, container: Document, **spec: object) -> Document:
    policy = spec.pop("restartPolicy", "Never")
    template = {"spec": {"restartPolicy": policy, "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template, **spec},
    }


def raycluster(name: str, *, workers: int = 1, **spec: object) -> Document:
    head = {"rayStartParams": {}, "template": _template("ray-head")}
    group = {
        "groupName": "small",
        "replicas": workers,
        "minReplicas": 0,
        "maxReplicas": 5,
        "rayStartParams": {},
        "template": _template("ray-worker"),
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"headGroupSpec": head, "workerGroupSpecs": [group], **spec},
    }


def _template(container: str) -> Document:
    return {"spec": {"containers": [{"name": container, "image": "x"}]}}


def head_address(cluster: str) -> str:
    return f"http://{cluster}-head-svc.default.svc.cluster.local:8265"


def submitter(name: str, address: str, job_id: str, entrypoint: str, options: str = "") -> Document:
    """Return the submitter as KubeRay makes it. Source: semantics/rayjob.md, section 4.1."""
    health = (
        f"import urllib.request; r=urllib.request.urlopen('{address}/api/gcs_healthz', timeout=10);"
        " exit(0 if b'success' in r.read() else 1)"
    )
    script = (
        f'until python -c "{health}" >/dev/null 2>&1 ; do echo "Waiting for Ray Dashboard GCS to'
        f' become healthy at {address} ..." ; sleep 2 ; done ; '
        f"if ! ray job status --address {address} {job_id} >/dev/null 2>&1 ; then "
        f"ray job submit --address {address} --no-wait {options} --submission-id {job_id} -- "
        f"{entrypoint} ; fi ; ray job logs --address {address} --follow {job_id}"
    )
    container = {
        "name": "ray-job-submitter",
        "image": "x",
        "command": ["/bin/bash", "-ce", "--"],
        "args": [script],
    }
    return batch_job(name, container, backoffLimit=2)


def fetch(
    url: str, *, proxy: str = "", method: str = "GET", body: object = None
) -> tuple[int, str]:
    """Return status and text of a request."""
    handlers = urllib.request.ProxyHandler({"http": proxy} if proxy else {})
    opener = urllib.request.build_opener(handlers, _KeepErrors())
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method)
    with opener.open(request, timeout=30) as answer:
        return answer.status, answer.read().decode()


class _KeepErrors(urllib.request.HTTPErrorProcessor):
    def http_response(self, request: object, response: Any) -> Any:  # noqa: ANN401  # the library's own type
        del request
        return response
