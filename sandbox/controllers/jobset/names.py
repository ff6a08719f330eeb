"""What a JobSet's parts are called.

Source: JobSet v0.12.0, pkg/util/placement and pkg/controllers (GetSubdomain, CoordinatorEndpoint).
"""

from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Json, Manifest, child, items, number, text

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")

CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"
"""The value of `spec.managedBy` that means the ordinary controller, besides none."""

JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
GROUP = "jobset.sigs.k8s.io/replicatedjob-name"
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
"""Labels by which Jobs and Pods are found."""


def groups_of(jobset: Manifest) -> list[Json]:
    """Return the replicated jobs, in the order of the specification."""
    return list(items(jobset, "spec", "replicatedJobs"))


def replicas_of(group: Json) -> int:
    """Return how many Jobs a replicated job has."""
    wanted = number(group, "replicas")
    return 1 if wanted is None else wanted


def job_name(jobset: Manifest, group: Json, index: int) -> str:
    """Return the name of a child Job."""
    return f"{text(jobset, 'metadata', 'name')}-{text(group, 'name')}-{index}"


def subdomain_of(jobset: Manifest) -> str:
    """Return the subdomain of the Pods, which is the name of the headless Service."""
    own = text(jobset, "spec", "network", "subdomain")
    return own or text(jobset, "metadata", "name")


def has_names(jobset: Manifest) -> bool:
    """Tell whether each Pod has a name of its own; so it is where nobody says."""
    return child(jobset, "spec", "network").get("enableDNSHostnames") is not False


def claim_name(jobset: Manifest, template: Json) -> str:
    """Return the name of the claim that is made of a template."""
    return f"{text(template, 'metadata', 'name')}-{text(jobset, 'metadata', 'name')}"


def coordinator_of(jobset: Manifest) -> str:
    """Return the address of the coordinator Pod; empty if there is none."""
    chosen = child(jobset, "spec", "coordinator")
    if not chosen:
        return ""
    indexes = f"{number(chosen, 'jobIndex') or 0}-{number(chosen, 'podIndex') or 0}"
    prefix = f"{text(jobset, 'metadata', 'name')}-{text(chosen, 'replicatedJob')}"
    return f"{prefix}-{indexes}.{subdomain_of(jobset)}"
