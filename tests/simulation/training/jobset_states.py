"""What a JobSet shows of its Jobs, and what follows from it."""

from collections.abc import Sequence

from jobledger.core.values.documents import Manifest, child, items, number, text

SHOWN = {"active": ("active",), "ready": ("active", "ready")}
"""State of a Job -> its counters that are one; else it is the state itself."""
ENDS = ("Completed", "Failed")


def states_of(jobset: Manifest) -> dict[str, str]:
    """Return how far each Job is, in the order of the JobSet."""
    told = {text(one, "name"): one for one in items(jobset, "status", "replicatedJobsStatus")}
    return {
        name: next(
            (
                state
                for state in ("suspended", "succeeded", "failed", "ready", "active")
                if number(told.get(name), state)
            ),
            "",
        )
        for name in (text(job, "name") for job in items(jobset, "spec", "replicatedJobs"))
    }


def on_other_nodes(job: Manifest) -> Manifest:
    """Return a replicatedJob whose Pods have another node selector."""
    template, inner = child(job, "template"), child(job, "template", "spec", "template")
    pod = {**child(inner, "spec"), "nodeSelector": {"drifted": "true"}}
    spec = {**child(template, "spec"), "template": {**inner, "spec": pod}}
    return {**job, "template": {**template, "spec": spec}}


def ends_of(jobset: Manifest) -> list[Manifest]:
    """Return the conditions that end a JobSet."""
    found = [child(one) for one in items(jobset, "status", "conditions")]
    return [one for one in found if text(one, "type") in ENDS]


def other_conditions(jobset: Manifest, *kinds: str) -> list[Manifest]:
    """Return the conditions of a JobSet but for some kinds."""
    found = [child(one) for one in items(jobset, "status", "conditions")]
    return [one for one in found if text(one, "type") not in kinds]


def condition_of(jobset: Manifest, kind: str) -> str:
    """Return the status of a condition; empty if there is none."""
    found = items(jobset, "status", "conditions")
    return next((text(one, "status") for one in found if text(one, "type") == kind), "")


def is_complete(jobset: Manifest, states: dict[str, str]) -> bool:
    """Return whether all Jobs have succeeded by which a JobSet does."""
    targets = items(jobset, "spec", "successPolicy", "targetReplicatedJobs") or list(states)
    return bool(states) and all(states.get(str(one)) == "succeeded" for one in targets)


def may_start(jobset: Manifest, job: str, states: dict[str, str], before: Sequence[str]) -> bool:
    """Return whether what a Job waits for has come."""
    found = (one for one in items(jobset, "spec", "replicatedJobs") if text(one, "name") == job)
    for needed in (need for one in found for need in items(one, "dependsOn")):
        wanted = ("succeeded",) if text(needed, "status") == "Complete" else ("ready", "succeeded")
        if states.get(text(needed, "name")) not in wanted:
            return False
    in_order = text(jobset, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
    return not in_order or all(states[one] in ("ready", "succeeded") for one in before)
