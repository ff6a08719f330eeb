"""The child Jobs of a JobSet as they are: of which attempt, in which state, how many of each.

Source: JobSet v0.12.0, pkg/controllers/jobset_controller.go (getChildJobs and
calculateReplicatedJobStatuses).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jobledger.core.values.documents import Json, Manifest, child, number, text
from jobledger.sandbox.controllers.conditions import condition_is_true
from jobledger.sandbox.controllers.jobset.names import ATTEMPT, GROUP, groups_of

COUNTERS = ("ready", "succeeded", "failed", "active", "suspended")


@dataclass(slots=True)
class Children:
    """The child Jobs by what matters of them."""

    active: list[Manifest] = field(default_factory=list)
    succeeded: list[Manifest] = field(default_factory=list)
    failed: list[Manifest] = field(default_factory=list)
    previous: list[Manifest] = field(default_factory=list)
    """Those of an earlier attempt, which have to go."""

    def all(self) -> list[Manifest]:
        """Return every one."""
        return [*self.active, *self.succeeded, *self.failed, *self.previous]


def children_of(jobs: Iterable[Manifest], restarts: int) -> Children:
    """Sort the Jobs of a JobSet that is in the attempt `restarts`."""
    found = Children()
    for job in jobs:
        attempt = text(job, "metadata", "labels", ATTEMPT)
        if not attempt.isdigit() or int(attempt) < restarts:
            found.previous.append(job)
        elif condition_is_true(job, "Failed"):
            found.failed.append(job)
        elif condition_is_true(job, "Complete"):
            found.succeeded.append(job)
        else:
            found.active.append(job)
    return found


def group_of(job: Manifest) -> str:
    """Return the name of the replicated job that a Job belongs to."""
    return text(job, "metadata", "labels", GROUP)


def is_suspended(job: Manifest) -> bool:
    """Tell whether a Job (or JobSet) is suspended."""
    return child(job, "spec").get("suspend") is True


def counts_of(jobset: Manifest, children: Children) -> dict[str, dict[str, int]]:
    """Return for each replicated job how many Jobs are ready, succeeded, failed and so on."""
    found = {text(group, "name"): dict.fromkeys(COUNTERS, 0) for group in groups_of(jobset)}

    def count(job: Manifest, counter: str) -> None:
        if group_of(job) in found:
            found[group_of(job)][counter] += 1

    for job in children.active:
        if _is_ready(job):
            count(job, "ready")
        if (number(job, "status", "active") or 0) > 0:
            count(job, "active")
        if is_suspended(job):
            count(job, "suspended")
    for job in children.succeeded:
        count(job, "succeeded")
    for job in children.failed:
        count(job, "failed")
    return found


def replicated_jobs_status(counts: Mapping[str, Mapping[str, int]]) -> list[Json]:
    """Return the counters as the status shows them: by name, the last one first."""
    return [{"name": name, **counts[name]} for name in sorted(counts, reverse=True)]


def _is_ready(job: Manifest) -> bool:
    """Tell whether as many Pods are ready or have succeeded as may run at once."""
    parallelism = number(job, "spec", "parallelism")
    pods = 1 if parallelism is None else parallelism
    completions = number(job, "spec", "completions")
    if completions is not None:
        pods = min(pods, completions)
    done = number(job, "status", "succeeded") or 0
    return done + (number(job, "status", "ready") or 0) >= pods
