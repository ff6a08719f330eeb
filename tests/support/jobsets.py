"""Short ways to say what a JobSet is made of, and to wait for what becomes of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.api import JOBS, PODS, Api, Reply
from tests.support.waiting import wait_until

JOBSETS = "jobset.x-k8s.io/v1alpha2/jobsets"
SECONDS = 120.0
"""Limit of every wait: Pods are processes of a busy machine."""

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """A namespace in which JobSets run, one of them ours, and a directory for its Pods to meet."""

    api: Api
    name: str
    directory: Path

    def create(self, *groups: Document, **spec: object) -> Reply:
        """Create the JobSet."""
        return self.api.create(JOBSETS, jobset(self.name, *groups, **spec))

    def start(self, *groups: Document, **spec: object) -> None:
        """Create the JobSet, which must be accepted."""
        reply = self.create(*groups, **spec)
        assert reply.code == 201, reply.message

    def jobset(self) -> Document:
        """Return the JobSet as it is."""
        return dict(self.api.get(JOBSETS, self.name).body)

    def status(self) -> Document:
        """Return its status."""
        found: Document = self.jobset().get("status") or {}
        return found

    def change(self, **spec: object) -> Reply:
        """Change fields of its spec."""
        return self.api.merge(JOBSETS, self.name, {"spec": spec})

    def condition(self, kind: str) -> tuple[str, str, str]:
        """Return status, reason and message of a condition; empty if it is not there."""
        found = self.status().get("conditions") or []
        one: Document = next((entry for entry in found if entry["type"] == kind), {})
        return one.get("status", ""), one.get("reason", ""), one.get("message", "")

    def counts(self, group: str) -> dict[str, int]:
        """Return the counters of a group that are not nought."""
        found = self.status().get("replicatedJobsStatus") or []
        one: Document = next((entry for entry in found if entry["name"] == group), {})
        return {key: value for key, value in one.items() if key != "name" and value}

    def jobs(self) -> dict[str, Document]:
        """Return the child Jobs by name."""
        selector = f"jobset.sigs.k8s.io/jobset-name={self.name}"
        found = self.api.list(JOBS, labelSelector=selector).body["items"]
        return {one["metadata"]["name"]: one for one in found}

    def pods(self, group: str = "") -> list[Document]:
        """Return the Pods (of one group) by completion index."""
        selector = f"jobset.sigs.k8s.io/jobset-name={self.name}"
        if group:
            selector += f",jobset.sigs.k8s.io/replicatedjob-name={group}"
        found = self.api.list(PODS, labelSelector=selector).body["items"]
        index = "batch.kubernetes.io/job-completion-index"
        return sorted(found, key=lambda pod: str(pod["metadata"]["annotations"].get(index)))

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds."""

        def told() -> str:
            return f"{what}; {self.name} has {self.status()}"

        try:
            wait_until(condition, what, SECONDS)
        except AssertionError as late:
            raise AssertionError(told()) from late

    def wait_for(self, kind: str, value: str = "True") -> tuple[str, str]:
        """Wait for a condition; return its reason and message."""
        self.wait(lambda: self.condition(kind)[0] == value, f"{kind} is {value}")
        return self.condition(kind)[1:]

    def file(self, name: str) -> Path:
        """Return a file that the Pods and the test both know."""
        return self.directory / name


def jobset(name: str, *groups: Document, **spec: object) -> Document:
    """Return a JobSet."""
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": list(groups), **spec},
    }


def group(
    name: str,
    *command: str,
    pods: int = 1,
    replicas: int = 1,
    job: Document | None = None,
    pod: Document | None = None,
    **more: object,
) -> Document:
    """Return a replicated job whose Pods run `command`; a failed Pod fails its Job."""
    container = {"name": "node", "image": "x", "command": list(command)}
    template = {"spec": {"restartPolicy": "Never", "containers": [container], **(pod or {})}}
    spec = {"parallelism": pods, "completions": pods, "backoffLimit": 0, **(job or {})}
    return {
        "name": name,
        "replicas": replicas,
        "template": {"spec": {**spec, "template": template}},
        **more,
    }


def shell(script: str) -> tuple[str, str, str]:
    """Return the command that runs a script."""
    return "/bin/sh", "-c", script


def waiting_for(file: Path, then: str = "true") -> tuple[str, str, str]:
    """Return the command that waits for a file."""
    return shell(f"until [ -e {file} ]; do sleep 0.2; done; {then}")
