"""Computes the `.status` of a Job from its state, as the API server takes it.

The API server holds every controller to what its own Job controller keeps to: a start before the
end, no active or terminating Pods of a finished Job, `SuccessCriteriaMet` with `Complete`,
`FailureTarget` with `Failed`, counters that never fall, a start that stays. Source: Kubernetes
1.36, pkg/apis/batch/validation, ValidateJobStatusUpdate, and pkg/registry/batch/job/strategy.go.
"""

from jobledger.core.batchjob.observations import NO_PODS
from jobledger.core.batchjob.phases import (
    RESUMED_MESSAGE,
    RESUMED_REASON,
    SUSPENDED_MESSAGE,
    SUSPENDED_REASON,
)
from jobledger.core.batchjob.state import BatchJobState, is_final, pods_of
from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.instants import Instant, rfc3339
from jobledger.core.values.visible_text import visible

MESSAGE_MAX = 32_768
"""How long a condition's message is at most."""


COUNTERS = frozenset({"active", "ready", "succeeded", "failed", "terminating"})
"""Fields that count Pods: each status has them all."""

RISING = frozenset({"succeeded", "failed"})
"""Those that never fall."""

LASTING = frozenset({"startTime"})
"""Fields that stay once they are shown."""

FIELDS = COUNTERS | {"startTime", "completionTime", "conditions"}
"""Every field of the status that is ours."""


def status(state: BatchJobState) -> Manifest:
    """Return what users are to see; empty while there is nothing to say."""
    if state.manifest is None or (state.started_at is None and state.suspended is None):
        return {}
    now = NO_PODS if is_final(state) else pods_of(state)
    shown: dict[str, Json] = {
        "active": now.active,
        "ready": min(now.ready, now.active),
        "succeeded": state.pods_succeeded,
        "failed": state.pods_failed_min,
        "terminating": now.terminating,
    }
    if state.started_at is not None:
        shown["startTime"] = rfc3339(state.started_at)
    if state.end is not None and state.end.completed:
        shown["completionTime"] = rfc3339(_not_before_the_start(state, state.end.ended_at))
    if conditions := _conditions(state):
        shown["conditions"] = conditions
    return shown


def _not_before_the_start(state: BatchJobState, at: Instant) -> Instant:
    """Return when the job ended; the start is by another clock, and may be later by that."""
    return at if state.started_at is None else max(at, state.started_at)


def _conditions(state: BatchJobState) -> list[Manifest]:
    found = []
    if state.suspended is not None and state.suspension_changed_at is not None:
        reason, message = RESUMED_REASON, RESUMED_MESSAGE
        if state.suspended:
            reason, message = SUSPENDED_REASON, SUSPENDED_MESSAGE
        at = state.suspension_changed_at
        found.append(_condition("Suspended", at, reason, message, is_true=state.suspended))
    end = state.end
    if end is not None and end.completed:
        at = _not_before_the_start(state, end.ended_at)
        both = ("SuccessCriteriaMet", "Complete")
        return [*found, *(_condition(kind, at, end.reason, end.message) for kind in both)]
    target = state.failing if state.failing is not None else end
    if target is not None:
        at, reason, message = target.ended_at, target.reason, target.message
        found.append(_condition("FailureTarget", at, reason, message))
    if end is not None:
        found.append(_condition("Failed", end.ended_at, end.reason, end.message))
    return found


def _condition(
    kind: str, since: Instant, reason: str, message: str, *, is_true: bool = True
) -> Manifest:
    words = {"reason": reason, "message": visible(message)[:MESSAGE_MAX]}
    return {
        "type": kind,
        "status": "True" if is_true else "False",
        **{name: word for name, word in words.items() if word},  # an API server keeps no empty one
        "lastProbeTime": rfc3339(since),
        "lastTransitionTime": rfc3339(since),
    }


def milestone(state: BatchJobState) -> str:
    """Return what must be seen by users before the next: two states of one milestone may merge.

    A wait for Pods at work ends with the first that is ready; the number of the attempt is no field
    of the status, but the counts of one must not run into those of the next.
    """
    attempt = state.attempt.number if state.attempt is not None else 0
    pods = pods_of(state)
    return f"{state.phase.value} {attempt} {bool(pods.active)} {bool(pods.ready)}"
