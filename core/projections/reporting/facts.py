"""The row types of the reporting tables, without the columns that all facts share.

The fields are the columns, in their order; units are in the names, or seconds.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.values.instants import Instant

MESSAGE_CHARACTERS_MAX = 500


class JobFact(Struct, frozen=True):
    """A job as it stands (table `report_job`)."""

    name: str
    uid: str
    phase: str
    phase_since: Instant
    outcome: str
    reason: str
    open: bool
    created_at: Instant
    first_seen_at: Instant
    started_at: Instant | None
    running_at: Instant | None
    ended_at: Instant | None
    deleted_at: Instant | None
    last_event_at: Instant
    attempts: int
    failed_attempts: int
    retries: int
    events: int
    suspended_seconds: float
    running_seconds: float
    cluster_seconds: float
    wasted_cluster_seconds: float
    labels: str | None = None
    """A JSON object: the labels of its object, as the manifest says now."""


class ResourceUse(Struct, frozen=True):
    """One thing that an attempt held, in its unit times seconds."""

    resource: str
    """cpu (cores), memory (GiB) or accelerator (pieces)."""
    accelerator: str
    """Which one; empty of other things."""
    amount: float
    """How much at last."""
    waiting_seconds: float
    """Held before the attempt ran."""
    running_seconds: float
    idle_seconds: float
    """Held after its end."""
    stage: str
    """In which of the three it was at last."""


class AttemptFact(Struct, frozen=True):
    """An execution (table `report_attempt`)."""

    number: int
    cluster_name: str
    cluster_shared: bool
    generation: int
    started_at: Instant
    cluster_created_at: Instant | None
    cluster_ready_at: Instant | None
    running_at: Instant | None
    ended_at: Instant | None
    cluster_gone_at: Instant | None
    outcome: str
    reason: str
    failure_class: str
    cause: str
    retried: bool
    counted: bool
    granted_at: Instant | None
    waiting_since: Instant
    seen_seconds: float | None
    queue_seconds: float
    cluster_seconds: float
    resources: tuple[ResourceUse, ...] | None = None
    first_step_at: Instant | None = None


class PhaseFact(Struct, frozen=True):
    """A stay in a state (table `report_phase`)."""

    number: int
    attempt: int
    phase: str
    next_phase: str
    entered_at: Instant
    left_at: Instant | None


class FailureFact(Struct, frozen=True):
    """A failure (table `report_failure`)."""

    number: int
    attempt: int
    failed_at: Instant
    reason: str
    failure_class: str
    cause: str
    message: str
    exit_code: int | None
    ran: bool
    retried: bool
    final: bool
    node: str | None = None


class DecisionFact(Struct, frozen=True):
    """A decision (table `report_decision`)."""

    decision_id: UUID
    attempt: int
    decision: str
    state: str
    scheduled_at: Instant
    due_at: Instant
    resolved_at: Instant | None
    lateness_ms: float | None
    cause: str
    resolution: str


class GapFact(Struct, frozen=True):
    """An observation gap (table `report_gap`)."""

    number: int
    source: str
    since_at: Instant
    until_at: Instant
    found_at: Instant
    reason: str


class ActivityFact(Struct, frozen=True):
    """What was written down in an hour (table `report_activity`)."""

    hour: Instant
    events: int = 0
    observations: int = 0
    effects_requested: int = 0
    effects_succeeded: int = 0
    effects_faltered: int = 0
    effects_failed: int = 0
    effects_superseded: int = 0
    decisions_fired: int = 0
    decisions_cancelled: int = 0
    status_writes: int = 0
    failed_status_checks: int = 0
    gaps: int = 0
    lateness_ms_max: float | None = None
    lateness_ms_sum: float = 0.0


class Dimension(Struct, frozen=True):
    """How the facts of a job can be grouped (table `report_dimension`)."""

    cluster: str = ""
    namespace: str = ""
    kind: str = ""
    framework: str = ""
    runtime: str = ""
    queue: str = ""
    user_name: str = ""
    image: str = ""


def seconds_between(earlier: Instant | None, later: Instant | None) -> float:
    """Return the seconds from one instant to another; 0 if either is unknown or they are swapped.

    Instants of several clocks may be swapped.
    """
    if earlier is None or later is None:
        return 0.0
    return max(0.0, (later - earlier).total_seconds())


Fact = TypeVar("Fact", bound=Struct)


def with_last(
    facts: tuple[Fact, ...], is_meant: Callable[[Fact], bool], changes: Mapping[str, object]
) -> tuple[Fact, ...]:
    """Return the facts with changes to the last one that is meant; as they are if none is.

    It is looked for from the end, where it mostly is: a job may have thousands of them.
    """
    at = next((at for at in range(len(facts) - 1, -1, -1) if is_meant(facts[at])), None)
    if at is None:
        return facts
    return (*facts[:at], replace(facts[at], **changes), *facts[at + 1 :])
