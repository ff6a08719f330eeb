"""The conditions of a JobSet: how one is set, and which there are.

A condition that is False is never added, only changed; the two of the startup policy exclude each
other. Source: JobSet v0.12.0, pkg/controllers/jobset_controller.go (updateCondition) and
pkg/constants (reasons and messages are literals).
"""

from dataclasses import dataclass

from jobledger.core.values.documents import Json, items, text
from jobledger.core.values.instants import Instant, rfc3339


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What is to hold."""

    kind: str
    is_true: bool = True
    reason: str
    message: str


SUSPENDED = Condition(kind="Suspended", reason="SuspendedJobs", message="jobset is suspended")
RESUMED = Condition(
    kind="Suspended", is_true=False, reason="ResumeJobs", message="jobset is resumed"
)
COMPLETED = Condition(
    kind="Completed", reason="AllJobsCompleted", message="jobset completed successfully"
)
STARTING = Condition(
    kind="StartupPolicyInProgress",
    reason="InOrderStartupPolicyInProgress",
    message="in order startup policy is in progress",
)
STARTED = Condition(
    kind="StartupPolicyCompleted",
    reason="InOrderStartupPolicyCompleted",
    message="in order startup policy has completed",
)
_EXCLUSIVE = frozenset({STARTING.kind, STARTED.kind})


def failed(reason: str, message: str) -> Condition:
    """Return the condition of a JobSet that has failed."""
    return Condition(kind="Failed", reason=reason, message=message)


def restarting(reason: str, message: str) -> Condition:
    """Return the condition of a JobSet whose Jobs begin anew."""
    return Condition(kind="RestartingJobSet", reason=reason, message=message)


def no_longer_restarting(reason: str, message: str) -> Condition:
    """Return the end of `restarting`."""
    return Condition(kind="RestartingJobSet", is_true=False, reason=reason, message=message)


def with_condition(conditions: list[Json], wanted: Condition, now: Instant) -> list[Json]:
    """Return the conditions with one set; its time changes only with its status."""
    value = "True" if wanted.is_true else "False"
    made: dict[str, Json] = {
        "type": wanted.kind,
        "status": value,
        "reason": wanted.reason,
        "message": wanted.message,
        "lastTransitionTime": rfc3339(now),
    }
    found, result = False, list[Json]()
    for entry in conditions:
        kind = text(entry, "type")
        if kind == wanted.kind:
            found = True
            since = text(entry, "lastTransitionTime") if text(entry, "status") == value else ""
            result.append({**made, "lastTransitionTime": since or rfc3339(now)})
        elif wanted.is_true and {kind, wanted.kind} == _EXCLUSIVE:
            result.append({**_fields(entry), "status": "False"})
        else:
            result.append(entry)
    if not found and wanted.is_true:
        result.append(made)
    return result


def _fields(entry: Json) -> dict[str, Json]:
    return dict(entry) if isinstance(entry, dict) else {}


def ended_at(conditions: list[Json]) -> str | None:
    """Return when the JobSet ended (as RFC 3339), or None if it has not."""
    for entry in conditions:
        if text(entry, "type") in ("Completed", "Failed") and text(entry, "status") == "True":
            return text(entry, "lastTransitionTime")
    return None


def conditions_of(status: Json) -> list[Json]:
    """Return the conditions of a status."""
    return list(items(status, "conditions"))
