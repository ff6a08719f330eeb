"""Validates a training runtime by the rules of upstream's webhook.

Where Trainer's webhooks are installed they refuse such a runtime; where they are not, jobs that
name it say what is wrong as a failed build. Source: Trainer v2.3, trainingruntime_webhook.go.
"""

from collections.abc import Iterator, Mapping

from jobledger.core.trainjob.names import ANCESTOR_LABEL, DATASET, MODEL, NODE, TRAINER
from jobledger.core.values.documents import Json, Manifest, items, number, text

REQUIRED_CONTAINERS: Mapping[str, str] = {TRAINER: NODE, DATASET: DATASET, MODEL: MODEL}
"""Step of a TrainJob -> the container that whoever takes it must have."""

UNCHECKED_LABEL, UNCHECKED = "trainer.kubeflow.org/webhook-validation", "disabled"
"""A label by which a runtime is excluded from validation, and its value."""

_JOBS = "spec.template.spec.replicatedJobs"


def runtime_problems(runtime: Manifest) -> list[str]:
    """Return what is wrong with a TrainingRuntime or ClusterTrainingRuntime.

    Only replicatedJobs that take a known step of a TrainJob are looked at.
    """
    if text(runtime, "metadata", "labels", UNCHECKED_LABEL) == UNCHECKED:
        return []
    jobs = items(runtime, "spec", "template", "spec", "replicatedJobs")
    return [problem for index, job in enumerate(jobs) for problem in _problems(index, job)]


def _problems(index: int, job: Json) -> Iterator[str]:
    step = text(job, "template", "metadata", "labels", ANCESTOR_LABEL)
    if step not in REQUIRED_CONTAINERS:
        return
    replicas = number(job, "replicas")
    if replicas not in (None, 1):  # the definition's default is 1
        yield f"{_JOBS}[{index}].replicas: Invalid value: {replicas}: always must be 1"
    containers = items(job, "template", "spec", "template", "spec", "containers")
    if all(text(item, "name") != REQUIRED_CONTAINERS[step] for item in containers):
        where = f"{_JOBS}[{index}].template.spec.template.spec.containers"
        yield f"{where}: must contain the required container for the ancestor: {step}"
