"""Manifests of RayJobs for tests, and entrypoints that take well under a second."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobledger.core.batchjob.names import MANAGED_BY

Document = dict[str, Any]

IMAGE = "rayproject/ray:2.52.0"


def rayjob(name: str, entrypoint: str, *, mode: str = "HTTPMode", **spec: Any) -> Document:  # noqa: ANN401  # any JSON
    """Return a RayJob with a head and no workers; HTTPMode saves the submitter's second."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {
            "entrypoint": entrypoint,
            "submissionMode": mode,
            "rayClusterSpec": cluster_spec(),
            **spec,
        },
    }


def cluster_spec(**container: object) -> Document:
    """Return the specification of a RayCluster; `container` is merged into the head's."""
    head = {"name": "ray-head", "image": IMAGE, **container}
    template = {"spec": {"containers": [head]}}
    return {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"rayStartParams": {}, "template": template},
    }


def counting(file: Path, *, fails: int) -> str:
    """Return an entrypoint that writes a line into a file at each run, and fails so many times."""
    return (
        f"sh -c 'echo run >> {file}; n=$(wc -l < {file}); "
        f'echo "run $n"; if [ $n -le {fails} ]; then echo "loss is NaN"; exit 1; fi; '
        "echo converged'"
    )


def waiting_for(file: Path, *, seconds: int = 60) -> str:
    """Return an entrypoint that succeeds once a file is there, and at the latest after a limit."""
    return (
        f"sh -c 'n=0; until [ -e {file} ] || [ $n -ge {seconds * 5} ]; "
        "do sleep 0.2; n=$((n + 1)); done'"
    )


def runs(file: Path) -> int:
    """Return how often `counting` has run."""
    return len(file.read_text().splitlines()) if file.exists() else 0


def with_metadata(manifest: Document, **metadata: Mapping[str, str]) -> Document:
    """Return the manifest with more in its metadata (labels, annotations)."""
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


def batch_job(name: str) -> Document:
    """Return a Job that is given to the service."""
    containers = [{"name": "main", "image": "etl:1", "command": ["true"]}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers}}
    spec = {"managedBy": MANAGED_BY, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
