"""Whether a batch Job has ended, and how: the rules on counts, limits and deadlines.

Source: Kubernetes, pkg/controller/job/job_controller.go (reasons and messages are literals).
"""

from dataclasses import dataclass

from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.instants import Instant, parse_rfc3339

DEFAULT_BACKOFF_LIMIT = 6
"""Source: batch/v1 JobSpec.backoffLimit."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a Job ends."""

    is_success: bool
    reason: str
    message: str


COMPLETED = Verdict(
    is_success=True,
    reason="CompletionsReached",
    message="Reached expected number of succeeded pods",
)
TOO_MANY_FAILURES = Verdict(
    is_success=False,
    reason="BackoffLimitExceeded",
    message="Job has reached the specified backoff limit",
)
TOO_LATE = Verdict(
    is_success=False,
    reason="DeadlineExceeded",
    message="Job was active longer than specified deadline",
)


def verdict_of(
    job: Manifest, pods: list[Manifest], counts: tuple[int, int], now: Instant
) -> Verdict | None:
    """Return how the Job ends, or None while it goes on; `counts` are succeeded and failed Pods.

    What was judged already stays, whatever becomes of the Pods that go then, as Kubernetes' own Job
    controller has it.
    """
    if judged := _judged(job):
        return judged
    succeeded, failed = counts
    limit = number(job, "spec", "backoffLimit")
    limit = DEFAULT_BACKOFF_LIMIT if limit is None else limit
    restarts = sum(_restarts(pod) for pod in pods)
    is_restarting = text(job, "spec", "template", "spec", "restartPolicy") == "OnFailure"
    if failed > limit or (is_restarting and restarts > 0 and failed + restarts > limit):
        return TOO_MANY_FAILURES
    deadline, started = number(job, "spec", "activeDeadlineSeconds"), started_at(job)
    active = (now - started).total_seconds() if started is not None else 0.0
    if deadline is not None and active >= deadline:
        return TOO_LATE
    if succeeded >= completions_of(job):
        return COMPLETED
    return None


def _judged(job: Manifest) -> Verdict | None:
    """Return what the Job says that it will end as, once its Pods are gone."""
    for entry in items(job, "status", "conditions"):
        kind = text(entry, "type")
        if kind in ("FailureTarget", "SuccessCriteriaMet") and text(entry, "status") == "True":
            return Verdict(
                is_success=kind == "SuccessCriteriaMet",
                reason=text(entry, "reason"),
                message=text(entry, "message"),
            )
    return None


def completions_of(job: Manifest) -> int:
    """Return how many Pods have to succeed; one is enough where the Job does not say."""
    wanted = number(job, "spec", "completions")
    return 1 if wanted is None else wanted


def parallelism_of(job: Manifest) -> int:
    """Return how many Pods may run at once."""
    wanted = number(job, "spec", "parallelism")
    return 1 if wanted is None else wanted


def started_at(job: Manifest) -> Instant | None:
    """Return when the Job began, if it has."""
    return parse_rfc3339(text(job, "status", "startTime"))


def ended_at(job: Manifest) -> Instant | None:
    """Return when the Job ended, if it has (condition Complete or Failed)."""
    for entry in items(job, "status", "conditions"):
        if text(entry, "type") in ("Complete", "Failed") and text(entry, "status") == "True":
            return parse_rfc3339(text(entry, "lastTransitionTime"))
    return None


def pod_ended_at(pod: Manifest) -> Instant | None:
    """Return when the last container of a Pod ended."""
    found: list[Instant] = []
    for entry in items(pod, "status", "containerStatuses"):
        at = parse_rfc3339(text(entry, "state", "terminated", "finishedAt"))
        if at is not None:
            found.append(at)
    return max(found, default=None)


def _restarts(pod: Manifest) -> int:
    if text(pod, "status", "phase") not in ("Pending", "Running"):
        return 0
    statuses: list[Json] = [
        *items(pod, "status", "initContainerStatuses"),
        *items(pod, "status", "containerStatuses"),
    ]
    return sum(number(child(entry), "restartCount") or 0 for entry in statuses)
