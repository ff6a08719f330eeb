"""Which replicated jobs of a JobSet may start: dependencies and the startup policy.

Source: JobSet v0.12.0, pkg/controllers/depends_on.go and startup_policy.go.
"""

from collections.abc import Mapping

from jobledger.core.values.documents import Json, Manifest, items, text
from jobledger.sandbox.controllers.jobset.names import groups_of, replicas_of


def is_in_order(jobset: Manifest) -> bool:
    """Tell whether each replicated job waits until the one before it has started."""
    return text(jobset, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"


def has_started(group: Json, counts: Mapping[str, Mapping[str, int]]) -> bool:
    """Tell whether all Jobs of a replicated job are ready or have ended."""
    found = counts[text(group, "name")]
    return replicas_of(group) == found["ready"] + found["succeeded"] + found["failed"]


def may_start(jobset: Manifest, group: Json, counts: Mapping[str, Mapping[str, int]]) -> bool:
    """Tell whether everything that a replicated job depends on has come as far as it asks."""
    known = {text(one, "name"): one for one in groups_of(jobset)}
    for needed in items(group, "dependsOn"):
        other = known.get(text(needed, "name"))
        if other is None:
            return False
        is_complete = counts[text(other, "name")]["succeeded"] == replicas_of(other)
        if text(needed, "status") == "Complete" and not is_complete:
            return False
        if text(needed, "status") == "Ready" and not has_started(other, counts):
            return False
    return True


def all_ready(jobset: Manifest, counts: Mapping[str, Mapping[str, int]]) -> bool:
    """Tell whether every Job of the JobSet is ready or has succeeded."""
    wanted = sum(replicas_of(group) for group in groups_of(jobset))
    return wanted == sum(one["ready"] + one["succeeded"] for one in counts.values())
