"""Builds the Job of an attempt from the user's Job.

Left out is what the API server generates for each Job by itself, what gives the Job to this
controller, and the time after which it is deleted: the attempt's Job goes with the user's.
Source: Kubernetes 1.36, pkg/registry/batch/job/strategy.go, generateSelector.
"""

from jobledger.core.batchjob.names import ATTEMPT_LABEL, JOB_LABEL, attempt_job_name, job_label
from jobledger.core.jobs.control.ownership import controller_reference
from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.values.documents import Json, Manifest, child, text

GENERATED_LABELS = frozenset(
    {
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
    }
)
"""Labels of the Pods that the API server generates, unless the selector is the user's own."""

NOT_COPIED = frozenset({"managedBy", "ttlSecondsAfterFinished"})
"""Fields of the specification that are about the user's Job alone."""


def attempt_job(job: Manifest, attempt: int) -> Manifest:
    """Return the Job of an attempt, suspended as the user's Job is."""
    name, uid = text(job, "metadata", "name"), text(job, "metadata", "uid")
    labels: Manifest = {JOB_LABEL: job_label(name), ATTEMPT_LABEL: str(attempt)}
    return {
        "apiVersion": BATCH_JOBS.api_version,
        "kind": BATCH_JOBS.kind,
        "metadata": {
            "name": attempt_job_name(name, uid, attempt),
            "namespace": text(job, "metadata", "namespace"),
            "labels": labels,
            "ownerReferences": [controller_reference(BATCH_JOBS.api_version, BATCH_JOBS.kind, job)],
        },
        "spec": _spec(child(job, "spec"), labels),
    }


def _spec(spec: Manifest, labels: Manifest) -> Manifest:
    selects_itself = spec.get("manualSelector") is True
    left_out = NOT_COPIED if selects_itself else NOT_COPIED | {"selector"}
    template = child(spec, "template")
    metadata = child(template, "metadata")
    kept: dict[str, Json] = {
        key: value
        for key, value in child(metadata, "labels").items()
        if selects_itself or key not in GENERATED_LABELS
    }
    labelled: Manifest = {**metadata, "labels": {**kept, **labels}}
    return {
        **{key: value for key, value in spec.items() if key not in left_out},
        "template": {**template, "metadata": labelled},
    }
