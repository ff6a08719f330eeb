"""What the events and the state of a TrainJob mean for reports."""

from collections.abc import Iterator, Sequence

from jobledger.core.jobs.history.holdings import Pods
from jobledger.core.jobs.history.report_news import (
    AttemptFailed,
    FailureNews,
    Found,
    JobFailed,
    Workload,
)
from jobledger.core.jobs.rows import LOST
from jobledger.core.trainjob import events as trainjob
from jobledger.core.trainjob.names import ANCESTOR_LABEL, DATASET, MODEL, TRAINER
from jobledger.core.trainjob.phases import Phase
from jobledger.core.trainjob.spec import read_runtime_ref
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.documents import Json, Manifest, child, items, number, text

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


def failure_news(event: trainjob.TrainJobEvent) -> FailureNews | None:
    """Return what an event says of a failure; None if nothing."""
    if isinstance(event, trainjob.TrainAttemptEnded) and event.outcome in ("failed", LOST):
        return AttemptFailed(attempt=event.attempt, reason=event.reason, message=event.message)
    if isinstance(event, trainjob.TrainJobFailed):
        return JobFailed(attempt=None, reason=event.reason, message=event.message)
    return None


def shows_ready_pods(event: trainjob.TrainJobEvent, beside: str) -> bool:
    """Return whether an event shows Jobs of the JobSet with all Pods ready, or over.

    No object is beside it.
    """
    del beside
    if not isinstance(event, trainjob.JobSetObserved):
        return False
    return any(one.ready or one.succeeded for one in event.jobs)


def shows_step(event: trainjob.TrainJobEvent) -> bool:
    """Return whether an event is a report of the training code itself."""
    return isinstance(event, trainjob.TrainerProgressReported)


def found(state: TrainJobState) -> Found | None:
    """Return how a job was found that was just adopted; None: as if from its beginning.

    Its attempt is counted from the first look at its JobSet on.
    """
    idle = state.phase is Phase.SUSPENDED or (state.phase is Phase.NEW and not state.created_once)
    return None if idle else Found(1, may_have_run=True)


def workload(document: Manifest) -> Workload:
    """Return what a manifest runs: what its runtime's name begins with, and the trainer's image."""
    runtime = read_runtime_ref(document).name
    framework = next((name for name in FRAMEWORKS if runtime.startswith(name)), "")
    return Workload(framework, runtime, text(document, "spec", "trainer", "image"))


def built_image(sent: Manifest) -> str:
    """Return the trainer's image in the JobSet among applied objects; empty if there is none."""
    for replicated in _replicated_jobs(sent):
        template = child(replicated, "template")
        if text(template, "metadata", "labels", ANCESTOR_LABEL) != TRAINER:
            continue
        for container in items(template, "spec", "template", "spec", "containers"):
            return text(container, "image")
    return ""


def pods(document: Manifest) -> Sequence[Pods]:
    """Return the nodes that a manifest itself asks for; the runtime may say more of them."""
    trainer = child(document, "spec", "trainer")
    resources = child(trainer, "resourcesPerNode")
    if not resources:
        return ()
    nodes = number(trainer, "numNodes")
    return (Pods({"containers": [{"resources": resources}]}, 1 if nodes is None else nodes),)


def built_pods(sent: Manifest) -> Sequence[Pods]:
    """Return the Pods of the JobSet among applied objects, those that run at once.

    Initializers are over before the others begin, and are not counted.
    """
    return [
        Pods(
            child(template, "spec", "template", "spec"),
            _or_one(number(replicated, "replicas"))
            * _or_one(number(template, "spec", "parallelism")),
        )
        for replicated in _replicated_jobs(sent)
        for template in (child(replicated, "template"),)
        if text(template, "metadata", "labels", ANCESTOR_LABEL) not in (DATASET, MODEL)
    ]


def _replicated_jobs(sent: Manifest) -> Iterator[Json]:
    for name, content in sent.items():
        if name.startswith("JobSet/"):
            yield from items(content, "spec", "replicatedJobs")


def _or_one(count: int | None) -> int:
    return 1 if count is None else count
