"""Says of Pods what their kubelet would: that they run, and how they ended."""

from typing import Any

from tests.support.api import PODS, Api

Document = dict[str, Any]

RUNNING = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True"}],
    "startTime": "2026-01-01T00:00:00Z",
}
ENDED = ("Succeeded", "Failed")


def pods(api: Api, group: str = "") -> list[Document]:
    """Return the Pods of a namespace that are neither ended nor being deleted."""
    selector = f"jobset.sigs.k8s.io/replicatedjob-name={group}" if group else ""
    found = api.list(PODS, labelSelector=selector).body["items"]
    return [
        pod
        for pod in found
        if "deletionTimestamp" not in pod["metadata"]
        and pod.get("status", {}).get("phase") not in ENDED
    ]


def run(api: Api, group: str = "") -> int:
    """Let all Pods run that do not; return how many run now."""
    found = pods(api, group)
    for pod in found:
        if pod["status"]["phase"] != "Running":
            api.merge(PODS, pod["metadata"]["name"], {"status": RUNNING}, "status")
    return len(found)


def end(api: Api, group: str = "", *, fails: bool = False) -> None:
    """Let all Pods end."""
    phase = "Failed" if fails else "Succeeded"
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": "False"}]}
    for pod in pods(api, group):
        api.merge(PODS, pod["metadata"]["name"], {"status": status}, "status")
