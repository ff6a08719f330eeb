"""Labels every object of an attempt with its number, where the job asks for it.

Pods find it in their metadata (and, by the downward API, in their environment), so what they write
can be told apart by attempt. Asked for in kuberay#5211.
"""

from jobledger.core.rayjob.names import ATTEMPT_LABEL
from jobledger.core.rayjob.spec.go_values import texts
from jobledger.core.rayjob.spec.retry_annotations import read_retry_options
from jobledger.core.values.documents import Json, Manifest, child, items


def attempt_labels(job: Manifest, attempt: int) -> dict[str, str]:
    """Return the labels of everything that is made for an attempt: none, unless the job asks."""
    asked = read_retry_options(job).options.label_attempts
    return {ATTEMPT_LABEL: str(attempt)} if asked else {}


def with_pod_labels(cluster_spec: Manifest, labels: dict[str, str]) -> Manifest:
    """Return the specification of a RayCluster whose Pods all carry the labels."""
    if not labels:
        return cluster_spec
    changed: dict[str, Json] = {**cluster_spec}
    if "headGroupSpec" in cluster_spec:
        changed["headGroupSpec"] = _with_labels(child(cluster_spec, "headGroupSpec"), labels)
    if "workerGroupSpecs" in cluster_spec:
        groups = items(cluster_spec, "workerGroupSpecs")
        changed["workerGroupSpecs"] = [_with_labels(child(group), labels) for group in groups]
    return changed


def _with_labels(group: Manifest, labels: dict[str, str]) -> Manifest:
    template = child(group, "template")
    metadata = child(template, "metadata")
    labelled: Manifest = {**metadata, "labels": {**texts(child(metadata, "labels")), **labels}}
    return {**group, "template": {**template, "metadata": labelled}}
