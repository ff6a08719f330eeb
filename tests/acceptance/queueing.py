"""A queue as Kueue is one: it admits jobs by `spec.suspend`, and says where their Pods may run.

It does what Kueue's integration of RayJobs does to the object, and judges by what Kueue reads of
it. Source: kueue's rayjob_controller.go (RunWithPodSetsInfo, RestorePodSetsInfo, Finished,
IsActive, PodsReady) and its reconciler (stopJob). `tests/operators/queueing` has the real one.
"""

from typing import Any

from tests.acceptance.site import Site
from tests.acceptance.witness import RAYCLUSTERS, RAYJOBS, Told, Witness

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"

Document = dict[str, Any]


def queued(manifest: Document) -> Document:
    """Return the RayJob as the queue's webhook lets it in: suspended."""
    labels = {"labels": {QUEUE_LABEL: "research"}}
    spec = {**manifest["spec"], "suspend": True, "shutdownAfterJobFinishes": True}
    return {**manifest, "metadata": {**manifest["metadata"], **labels}, "spec": spec}


def admit(site: Site, name: str, flavor: str) -> None:
    """Resume the job on the nodes of a flavor: selectors and suspend in one update."""
    placement = {
        "nodeSelector": {"flavor": flavor},
        "tolerations": [{"key": flavor, "operator": "Exists"}],
    }
    _change(site, name, placement, suspend=False)


def evict(site: Site, name: str) -> None:
    """Take the job off its nodes: it is suspended and as it was submitted, in one update."""
    _change(site, name, {"nodeSelector": None, "tolerations": None}, suspend=True)


def _change(site: Site, name: str, placement: Document, *, suspend: bool) -> None:
    """Change where all Pods of a job may run, and whether it is suspended."""
    job: Document = site.api.get(RAYJOBS, name).body
    spec = job["spec"]
    templates = [spec["rayClusterSpec"]["headGroupSpec"]["template"]]
    templates += [g["template"] for g in spec["rayClusterSpec"].get("workerGroupSpecs", [])]
    if "submitterPodTemplate" in spec:
        templates.append(spec["submitterPodTemplate"])
    for template in templates:
        template["spec"] |= placement
    site.change(name, **{**spec, "suspend": suspend})


def is_active(status: Document) -> bool:
    """Return whether the queue takes the job's quota for used; what shows nothing has none."""
    return status.get("jobDeploymentStatus", "") not in ("Suspended", "")


def is_finished(status: Document) -> bool:
    """Return whether the queue frees the job's quota for good."""
    return status.get("jobDeploymentStatus") in ("Complete", "Failed")


def flavors(witness: Witness) -> list[str]:
    """Return the flavor that each RayCluster was made for, in order of creation."""
    made = [item for item in witness.told(RAYCLUSTERS) if item.verb == "ADDED"]
    return [_flavor(item) for item in made]


def _flavor(made: Told) -> str:
    template = made.document["spec"]["headGroupSpec"]["template"]
    return str(template["spec"].get("nodeSelector", {}).get("flavor", ""))


def suspend_as_told(witness: Witness, name: str) -> list[bool]:
    """Return what `spec.suspend` was, each change once."""
    told = [item.document["spec"].get("suspend", False) for item in witness.told(RAYJOBS, name)]
    return [value for at, value in enumerate(told) if at == 0 or value != told[at - 1]]
