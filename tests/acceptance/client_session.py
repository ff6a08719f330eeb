"""What somebody does with the official Python client; run in the environment that is documented.

Prints one JSON object with what the client said. Arguments: a namespace, and a file that the job
waits for.
"""

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any, TypeAlias

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import portforward, stream

Untyped: TypeAlias = Any
"""Of the client: its releases differ in which types they tell."""

SECONDS = 120
"""Limit of each wait."""

NAME = "followed"
RAYJOBS = ("ray.io", "v1")


def manifest(gate: str) -> dict[str, object]:
    """Return a RayJob that says something, waits for a file, and says something more."""
    wait = f"until [ -e {gate} ]; do sleep 0.2; done"
    head = {"name": "ray-head", "image": "rayproject/ray:2.52.0"}
    group = {"rayStartParams": {}, "template": {"spec": {"containers": [head]}}}
    spec = {
        "entrypoint": f"sh -c 'echo begun; {wait}; echo ended'",
        "rayClusterSpec": {"rayVersion": "2.52.0", "headGroupSpec": group},
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": NAME},
        "spec": spec,
    }


def watched(custom: Untyped, namespace: str, wanted: str) -> dict[str, str]:
    """Return the status of the job once it is in a phase."""
    listing = custom.list_namespaced_custom_object
    watching: Untyped = watch
    told = watching.Watch().stream(listing, *RAYJOBS, namespace, "rayjobs", timeout_seconds=SECONDS)
    for event in told:
        status: dict[str, str] = event["object"].get("status") or {}
        if status.get("jobDeploymentStatus") == wanted:
            return status
    message = f"{NAME} was never {wanted}"
    raise TimeoutError(message)


def followed(core: Untyped, namespace: str, pod: str, gate: str) -> list[str]:
    """Return the lines of a Pod's log; the job may end once the first of its own is read."""
    answer = core.read_namespaced_pod_log(pod, namespace, follow=True, _preload_content=False)
    lines, rest = [], b""
    for piece in answer.stream():
        *whole, rest = (rest + piece).split(b"\n")
        lines += [line.decode() for line in whole]
        if "begun" in lines:
            Path(gate).touch()
    return lines


def refusals(core: Untyped, namespace: str, pod: str) -> dict[str, str]:
    """Return what is said to whoever wants a connection into the Pod."""
    said = {}
    try:
        stream(core.connect_get_namespaced_pod_exec, pod, namespace, command=["ls"], stdout=True)
    except ApiException as refused:
        said["exec"] = str(refused)
    try:
        portforward(core.connect_get_namespaced_pod_portforward, pod, namespace, ports="80")
    except ApiException as refused:
        said["port-forward"] = str(refused)
    return said


def main(namespace: str, gate: str) -> int:
    """Make the job, watch it, follow its log, ask its head, look at the end."""
    configuring: Untyped = config
    configuring.load_kube_config()
    watching: Untyped = watch
    custom: Untyped = client.CustomObjectsApi()
    core: Untyped = client.CoreV1Api()
    custom.create_namespaced_custom_object(*RAYJOBS, namespace, "rayjobs", manifest(gate))
    status = watched(custom, namespace, "Running")
    head = f"http://{status['rayClusterName']}-head-svc.{namespace}.svc.cluster.local:8265"
    said: dict[str, object] = {}
    with urllib.request.urlopen(f"{head}/api/version", timeout=SECONDS) as answer:
        said["head"] = json.load(answer)["ray_version"]
    pods = core.list_namespaced_pod(namespace, label_selector=f"job-name={NAME}").items
    pod = pods[0].metadata.name
    said["refused"] = refusals(core, namespace, pod)
    said["followed"] = followed(core, namespace, pod, gate)
    said["ended"] = watched(custom, namespace, "Complete")["jobStatus"]
    lines = watching.Watch().stream(core.read_namespaced_pod_log, pod, namespace)
    said["watched"] = list(lines)
    json.dump(said, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
