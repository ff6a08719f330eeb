"""The phases of a Job that is retried on new Jobs.

Theory of operation. A Job of the user's has one attempt at a time, and an attempt one Job of its
own. What Kubernetes' Job controller says of that Job is copied to the status of the user's; only
its end is not: a failed attempt may be followed by another. Then the failed Job is deleted, and
only when it is gone the next is made.

A job that fails for good is Failing until nothing of it runs, as the API server takes no Job for
Failed that has active Pods; in its status that is `FailureTarget` before `Failed`.
"""

from collections.abc import Mapping
from enum import StrEnum


class Phase(StrEnum):
    """What a Job is at, in one word."""

    NEW = ""
    SUSPENDED = "Suspended"
    RUNNING = "Running"
    RETRYING = "Retrying"
    FAILING = "Failing"
    COMPLETE = "Complete"
    FAILED = "Failed"


FINAL = frozenset({Phase.COMPLETE, Phase.FAILED})
"""Phases that nothing leaves."""

ENTERED: Mapping[Phase, str] = {
    Phase.SUSPENDED: "spec.suspend is true",
    Phase.RUNNING: "an attempt has begun; its Job is there, or is being made",
    Phase.RETRYING: "an attempt failed and is followed by another, once its Job is gone",
    Phase.FAILING: "no other attempt follows, and the last one's Job may still be at work",
    Phase.COMPLETE: "the Job of an attempt is complete",
    Phase.FAILED: "no other attempt follows, and nothing is at work",
}
"""Phase -> what leads there."""

FOLLOWERS: Mapping[Phase, frozenset[Phase]] = {
    Phase.NEW: frozenset(Phase) - {Phase.NEW, Phase.RETRYING},
    Phase.SUSPENDED: frozenset(Phase) - {Phase.SUSPENDED},
    Phase.RUNNING: frozenset(Phase) - {Phase.RUNNING, Phase.NEW},
    Phase.RETRYING: frozenset(Phase) - {Phase.RETRYING, Phase.NEW},
    Phase.FAILING: FINAL - {Phase.COMPLETE},
    Phase.COMPLETE: frozenset(),
    Phase.FAILED: frozenset(),
}
"""Phase -> phases that may follow it."""

DEADLINE_EXCEEDED = "DeadlineExceeded"
JOB_DELETED = "JobDeleted"
JOB_DELETED_MESSAGE = "the Job of the attempt was deleted by somebody"
SUSPENDED_REASON, SUSPENDED_MESSAGE = "JobSuspended", "Job suspended"
RESUMED_REASON, RESUMED_MESSAGE = "JobResumed", "Job resumed"
"""Reasons and messages of Kubernetes' Job controller."""
