"""What a life is: what a RayJob asks for, and what happens to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tests.lives.acting import Step, begin_head
from tests.lives.world import RAYCLUSTERS, World
from tests.upstream.rayjob_changes import CHANGES

K8S, HTTP, SIDECAR, INTERACTIVE = "K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"


@dataclass(frozen=True, slots=True)
class Life:
    """A RayJob and what happens to it."""

    name: str
    mode: str
    steps: tuple[Step, ...]
    spec: dict[str, Any] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    """What else is changed of its manifest, by the names of `tests.upstream.rayjob_changes`."""
    shared: dict[str, Any] = field(default_factory=dict)
    """What else its own shared RayCluster has, if it selects one."""
    differs: str = ""
    """The line of docs/differences.md by which it goes another way with us."""


def spec_of(life: Life) -> dict[str, Any]:
    """Return the whole specification of a life's RayJob."""

    def template(name: str) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": name, "image": "ray:2.52.0"}]}}

    worker = {"groupName": "small", "replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    worker |= {"rayStartParams": {}, "template": template("ray-worker")}
    head = {"rayStartParams": {}, "template": template("ray-head")}
    cluster = {"rayVersion": "2.52.0", "headGroupSpec": head, "workerGroupSpecs": [worker]}
    whole: dict[str, Any] = {
        "entrypoint": "python x.py",
        "submissionMode": life.mode,
        "rayClusterSpec": cluster,
    }
    whole |= life.spec
    return {key: value for key, value in whole.items() if value is not None}


def document_of(life: Life) -> dict[str, Any]:
    """Return the manifest of a life's RayJob."""
    metadata = {"name": life.name}
    document: dict[str, Any] = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata}
    document |= {"spec": spec_of(life)}
    for name in life.changes:
        for change in CHANGES[name]:
            change(document)
    head = document["spec"].get("rayClusterSpec", {}).get("headGroupSpec", {})
    if "name" in (head.get("headService") or {}).get("metadata", {}):
        head["headService"]["metadata"]["name"] = f"{life.name}-own"  # all share one namespace
    submitter = document["spec"].get("submitterPodTemplate", {}).get("spec", {})
    for container in submitter.get("containers", []):
        container.setdefault("image", "own:1")  # a Job without one is refused again and again
    return document


def share(world: World, name: str, more: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Make a RayCluster that lives select."""
    spec = spec_of(Life(name, HTTP, ()))["rayClusterSpec"] | more
    document = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name}}
    reply = world.api.create(RAYCLUSTERS, {**document, "spec": spec})
    assert reply.code == 201, reply.message  # Created
    begin_head(world, name)
