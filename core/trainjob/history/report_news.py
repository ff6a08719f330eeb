"""What the events and the state of a TrainJob mean for reports."""

from jobledger.core.jobs.history.report_news import (
    AttemptFailed,
    FailureNews,
    Found,
    JobFailed,
    Workload,
)
from jobledger.core.trainjob import events as trainjob
from jobledger.core.trainjob.names import ANCESTOR_LABEL, TRAINER
from jobledger.core.trainjob.phases import Phase
from jobledger.core.trainjob.spec import read_runtime_ref
from jobledger.core.trainjob.state import TrainJobState
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


def failure_news(event: trainjob.TrainJobEvent) -> FailureNews | None:
    """Return what an event says of a failure; None if nothing."""
    if isinstance(event, trainjob.TrainAttemptEnded) and event.outcome in ("failed", "lost"):
        return AttemptFailed(attempt=event.attempt, reason=event.reason, message=event.message)
    if isinstance(event, trainjob.TrainJobFailed):
        return JobFailed(attempt=None, reason=event.reason, message=event.message)
    return None


def shows_ready_pods(event: trainjob.TrainJobEvent) -> bool:
    """Return whether an event shows Jobs of the JobSet with all Pods ready, or over."""
    if not isinstance(event, trainjob.JobSetObserved):
        return False
    return any(one.ready or one.succeeded for one in event.jobs)


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
    jobsets = (content for name, content in sent.items() if name.startswith("JobSet/"))
    for jobset in jobsets:
        for replicated in items(jobset, "spec", "replicatedJobs"):
            template = child(replicated, "template")
            if text(template, "metadata", "labels", ANCESTOR_LABEL) != TRAINER:
                continue
            for container in items(template, "spec", "template", "spec", "containers"):
                return text(container, "image")
    return ""
