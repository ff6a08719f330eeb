"""Changes the Pod specification or the number of Pods of a JobSet's replicatedJobs."""

from jobledger.core.values.documents import Json, Manifest, child


def with_pod(item: Manifest, pod: Manifest) -> Manifest:
    """Return a replicatedJob with another Pod specification."""
    template = child(item, "template")
    job = child(template, "spec")
    pod_template: Manifest = {**child(job, "template"), "spec": pod}
    return {**item, "template": {**template, "spec": {**job, "template": pod_template}}}


def with_job_fields(item: Manifest, **fields: Json) -> Manifest:
    """Return a replicatedJob with fields of its Job's specification set."""
    template = child(item, "template")
    job: Manifest = {**child(template, "spec"), **fields}
    return {**item, "template": {**template, "spec": job}}


def with_pod_metadata(item: Manifest, labels: Manifest, annotations: Manifest) -> Manifest:
    """Return a replicatedJob with labels and annotations added to its Pods."""
    job = child(item, "template", "spec")
    pod_template = child(job, "template")
    metadata: dict[str, Json] = dict(child(pod_template, "metadata"))
    if labels:
        metadata["labels"] = {**child(metadata, "labels"), **labels}
    if annotations:
        metadata["annotations"] = {**child(metadata, "annotations"), **annotations}
    return with_job_fields(item, template={**pod_template, "metadata": metadata})
