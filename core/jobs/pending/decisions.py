"""Decisions that fall due at a later instant: retries, deadlines, time-outs, shutdowns.

A decision is scheduled once and ends in exactly one event: fired or cancelled. Which decisions a
job has pending
follows from its state alone (`core.rayjob.rules.desired_decisions`); a firing that finds itself
obsolete is a cancellation.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from jobledger.core.values.ids import DecisionId
from jobledger.core.values.instants import Instant


class DecisionKind(StrEnum):
    """Why the controller will look at a job again at a certain instant."""

    RETRY = "retry"
    """The next attempt may begin."""
    ACTIVE_DEADLINE = "active_deadline"
    """spec.activeDeadlineSeconds of this attempt has passed."""
    JOB_DEADLINE = "job_deadline"
    """The deadline of the whole job, over all its attempts, has passed."""
    PRE_RUNNING_DEADLINE = "pre_running_deadline"
    """spec.preRunningDeadlineSeconds of this attempt has passed."""
    TRANSITION_GRACE = "transition_grace"
    """The Ray job ended long ago and its submitter has not."""
    SUBMITTER_FINISHED = "submitter_finished"
    """The submitter ended a while ago and the Ray job has not."""
    STATUS_CHECK = "status_check"
    """The head has left every status check unanswered for too long."""
    TTL_SHUTDOWN = "ttl_shutdown"
    """spec.ttlSecondsAfterFinished has passed: the RayCluster may go."""
    EVIDENCE = "evidence"
    """A failure has waited long enough for evidence of its class: it is judged without."""
    DELETION_RULE = "deletion_rule"
    """A rule of spec.deletionStrategy is due; the subject names its policy and where it stands."""
    EFFECT_RETRY = "effect_retry"
    """Something the API server refused is tried again."""


DECISION_WORDS: Mapping[str, str] = {
    DecisionKind.RETRY: "retry",
    DecisionKind.ACTIVE_DEADLINE: "deadline of the attempt",
    DecisionKind.JOB_DEADLINE: "deadline of the job",
    DecisionKind.PRE_RUNNING_DEADLINE: "deadline until it runs",
    DecisionKind.TRANSITION_GRACE: "time-out of the submitter",
    DecisionKind.SUBMITTER_FINISHED: "time-out of the Ray job",
    DecisionKind.STATUS_CHECK: "time-out of status checks",
    DecisionKind.TTL_SHUTDOWN: "shutdown after the end",
    DecisionKind.EVIDENCE: "time-out of evidence",
    DecisionKind.DELETION_RULE: "deletion rule",
    DecisionKind.EFFECT_RETRY: "another try",
}
"""What a decision is called where people read of it; programs read the kind."""


LOOK_FIRST = frozenset(
    {
        DecisionKind.ACTIVE_DEADLINE,
        DecisionKind.JOB_DEADLINE,
        DecisionKind.TRANSITION_GRACE,
        DecisionKind.SUBMITTER_FINISHED,
        DecisionKind.STATUS_CHECK,
    }
)
"""Kinds that end an attempt or a job: the Ray job is asked once more before they are judged.

After a pause of the controller the world has moved on; a job that succeeded before its deadline
has succeeded.
"""


class PendingDecision(Struct, frozen=True, kw_only=True):
    """A decision that has not ended yet."""

    decision_id: DecisionId
    kind: DecisionKind
    attempt: int
    due_at: Instant
    subject: str = ""
    """The effect that is to be tried again, where a job can have several decisions of a kind."""


class DesiredDecision(Struct, frozen=True, kw_only=True):
    """A decision that the state calls for, pending or not."""

    kind: DecisionKind
    due_at: Instant
    cause: str
    """Why, in words, with the numbers."""
    subject: str = ""
