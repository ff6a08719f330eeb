"""Dimensions for grouping reports, read from a job's manifest."""

import hashlib
from collections.abc import Sequence

from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.projections.reporting.facts import Dimension
from jobledger.core.rayjob.status.what_queues_see import QUEUE_LABEL
from jobledger.core.trainjob.names import ANCESTOR_LABEL, TRAINER
from jobledger.core.trainjob.spec import read_runtime_ref
from jobledger.core.values.documents import Manifest, child, items, text

FRAMEWORKS = (
    "torchtune",
    "torch",
    "deepspeed",
    "jax",
    "mlx",
    "xgboost",
    "mpi",
    "flux",
    "tensorflow",
)
"""What the names of runtimes begin with. Source: Trainer v2.3, manifests/base/runtimes."""


def dimension_of(
    identity: JobIdentity, kind: str, document: Manifest, user_labels: Sequence[str]
) -> Dimension:
    """Return what a manifest (`spec`, `labels`, `annotations`) says; unknown is empty."""
    train = kind == "TrainJob"
    runtime = read_runtime_ref(document).name if train else _submission_mode(document)
    return Dimension(
        cluster=identity.cluster,
        namespace=identity.namespace,
        kind=kind,
        framework=_framework(runtime) if train else "ray",
        runtime=runtime,
        queue=text(document, "labels", QUEUE_LABEL),
        user_name=_user(document, user_labels),
        image=text(document, "spec", "trainer", "image") if train else _head_image(document),
    )


def dimension_id(dimension: Dimension) -> int:
    """Return the key of a combination: the first 8 bytes of its SHA-256, as a signed number."""
    digest = hashlib.sha256("\x1f".join(dimension).encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


def image_of_jobset(sent: Manifest) -> str:
    """Return the trainer's image in the JobSet among applied objects; empty if there is none."""
    jobsets = (content for name, content in sent.items() if name.startswith("JobSet/"))
    for jobset in jobsets:
        for replicated in items(jobset, "spec", "replicatedJobs"):
            template = child(replicated, "template")
            if text(template, "metadata", "labels", ANCESTOR_LABEL) != TRAINER:
                continue
            for container in items(template, "spec", "template", "spec", "containers"):
                return text(container, "image")
    return ""


def _submission_mode(document: Manifest) -> str:
    return text(document, "spec", "submissionMode") or "K8sJobMode"


def _framework(runtime: str) -> str:
    return next((name for name in FRAMEWORKS if runtime.startswith(name)), "")


def _user(document: Manifest, user_labels: Sequence[str]) -> str:
    for part in ("labels", "annotations"):
        for label in user_labels:
            if found := text(document, part, label):
                return found
    return ""


def _head_image(document: Manifest) -> str:
    group = child(document, "spec", "rayClusterSpec", "headGroupSpec", "template", "spec")
    for container in items(group, "containers"):
        return text(container, "image")
    return ""
