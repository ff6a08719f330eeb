"""The completion indexes of an Indexed Job: which are done, which want a Pod, how Pods show them.

Source: Kubernetes, pkg/controller/job/indexed_job_utils.go (names, label, annotation, intervals).
"""

from collections.abc import Iterable, Sequence

from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.sandbox.controllers.batch_job.verdict import completions_of

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
"""Annotation and label of a Pod."""

INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
MAX_HOSTNAME_CHARS = 63


def is_indexed(job: Manifest) -> bool:
    """Tell whether the Pods of a Job are numbered."""
    return text(job, "spec", "completionMode") == "Indexed"


def index_of(pod: Manifest) -> int | None:
    """Return the completion index of a Pod, or None if it has none."""
    said = text(pod, "metadata", "annotations", COMPLETION_INDEX)
    return int(said) if said.isdigit() else None


def wanted_indexes(
    job: Manifest, active: Sequence[Manifest], done: Iterable[int], count: int
) -> list[int]:
    """Return the lowest `count` indexes that are neither done nor have a Pod."""
    taken = {index_of(pod) for pod in active} | set(done)
    free = (index for index in range(completions_of(job)) if index not in taken)
    return [index for _, index in zip(range(count), free, strict=False)]


def intervals(indexes: Iterable[int]) -> str:
    """Return numbers as a Job's status lists them: `0-2,4`; two in a row are `0,1`."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(_interval(run) for run in runs)


def _interval(run: list[int]) -> str:
    if len(run) == 1:
        return str(run[0])
    return f"{run[0]}{',' if run[-1] == run[0] + 1 else '-'}{run[-1]}"


def from_intervals(said: str) -> set[int]:
    """Return the numbers that `intervals` lists; what is no number is passed over."""
    found: set[int] = set()
    for part in said.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last.isdigit() or not last):
            found.update(range(int(first), int(last or first) + 1))
    return found


def numbered(pod: Manifest, index: int) -> Manifest:
    """Return a Pod of a Job with its index shown: label, annotation, environment."""
    metadata, spec = child(pod, "metadata"), child(pod, "spec")
    shown: dict[str, Json] = {COMPLETION_INDEX: str(index)}
    changed: dict[str, Json] = {
        field: [_told(container) for container in items(spec, field)]
        for field in ("containers", "initContainers")
        if spec.get(field)
    }
    return {
        **pod,
        "metadata": {
            **metadata,
            "labels": {**child(metadata, "labels"), **shown},
            "annotations": {**child(metadata, "annotations"), **shown},
        },
        "spec": {**spec, **changed},
    }


def _told(container: Json) -> Json:
    """Return a container that knows its index, as the last of its variables."""
    known = items(container, "env")
    if any(text(entry, "name") == INDEX_VARIABLE for entry in known):
        return container
    path = f"metadata.labels['{COMPLETION_INDEX}']"
    added: Json = {"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": path}}}
    return {**child(container), "env": [*known, added]}
