"""What the end of a Job means for its JobSet: success policy, failure policy, restarts.

Source: JobSet v0.12.0, pkg/controllers/success_policy.go and failure_policy.go (reasons and
messages are literals). Not done: the actions behind the feature gate RestartJob.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import TypeAlias

from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.instants import Instant, parse_rfc3339
from jobledger.sandbox.controllers.jobset.children import group_of
from jobledger.sandbox.controllers.jobset.names import groups_of, replicas_of


@dataclass(frozen=True, slots=True)
class Failed:
    """The JobSet has failed for good."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """All of its Jobs begin anew."""

    is_counted: bool
    """Whether it counts towards `maxRestarts`."""
    reason: str
    message: str


FailureOutcome: TypeAlias = Failed | Restarted

LATEST = Instant.max.replace(tzinfo=UTC)
"""Stands for an instant that a failure does not tell."""


def is_complete(jobset: Manifest, succeeded: Sequence[Manifest]) -> bool:
    """Tell whether the Jobs that have succeeded are all that the success policy asks for."""
    targets = items(jobset, "spec", "successPolicy", "targetReplicatedJobs")
    matching = [job for job in succeeded if not targets or group_of(job) in targets]
    if text(jobset, "spec", "successPolicy", "operator") == "Any":
        return len(matching) >= 1
    wanted = [one for one in groups_of(jobset) if not targets or text(one, "name") in targets]
    return len(matching) >= sum(map(replicas_of, wanted))


def outcome_of_failure(jobset: Manifest, failed: Sequence[Manifest]) -> FailureOutcome:
    """Return what follows from the Jobs that have failed (at least one)."""
    policy = child(jobset, "spec").get("failurePolicy")
    first = _earliest(failed)
    if policy is None:
        return Failed("FailedJobs", _said("jobset failed due to one or more job failures", first))
    rule, job = _matching(policy, failed) or (None, first)
    action = text(rule, "action") or "RestartJobSet"
    if action == "FailJobSet":
        said = "applying FailJobSet failure policy action"
        return Failed("FailJobSetFailurePolicyAction", _said(said, job))
    is_counted = action == "RestartJobSet"
    counted = number(jobset, "status", "restartsCountTowardsMax") or 0
    if is_counted and counted >= (number(policy, "maxRestarts") or 0):
        said = "jobset failed due to reaching max number of restarts"
        return Failed("ReachedMaxRestarts", _said(said, job))
    reason = f"FailurePolicy_{text(rule, 'name')}" if rule is not None else "DefaultFailurePolicy"
    return Restarted(is_counted, reason, _said(f"applying {action} failure policy action", job))


def _matching(policy: Json, failed: Sequence[Manifest]) -> tuple[Json, Manifest] | None:
    """Return the first rule that applies to a Job, and the earliest Job it applies to."""
    for rule in items(policy, "rules"):
        meant = [job for job in failed if _applies(rule, job)]
        if meant:
            return rule, _earliest(meant)
    return None


def _applies(rule: Json, job: Manifest) -> bool:
    ending = _ending(job)
    reasons, groups = items(rule, "onJobFailureReasons"), items(rule, "targetReplicatedJobs")
    patterns = items(rule, "onJobFailureMessagePatterns")
    return (
        (not reasons or text(ending, "reason") in reasons)
        and (not patterns or any(_found(str(one), text(ending, "message")) for one in patterns))
        and bool(group_of(job))
        and (not groups or group_of(job) in groups)
    )


def _found(pattern: str, message: str) -> bool:
    try:
        return re.search(pattern, message) is not None
    except re.error:
        return False  # upstream logs it and goes on to the next


def _earliest(failed: Sequence[Manifest]) -> Manifest:
    def failed_at(job: Manifest) -> Instant:
        return parse_rfc3339(text(_ending(job), "lastTransitionTime")) or LATEST

    return min(failed, key=failed_at)


def _ending(job: Manifest) -> Json:
    """Return the condition by which a Job has failed."""
    for entry in items(job, "status", "conditions"):
        if text(entry, "type") == "Failed" and text(entry, "status") == "True":
            return entry
    return None


def _said(message: str, job: Manifest) -> str:
    return f"{message} (first failed job: {text(job, 'metadata', 'name')})"
