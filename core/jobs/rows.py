"""Rows of the inline projections, which the controller and its users read instead of the log.

Every column follows from events. `core.projections` computes them, the append call writes them in
the same transaction as the events.
"""

from msgspec import Struct

from jobledger.core.jobs.evolve.shared_state import SharedAttempt
from jobledger.core.values.ids import DecisionId, EffectId, StreamId
from jobledger.core.values.instants import Instant

LOST = "lost"
"""Outcome of an attempt whose objects somebody deleted. That another is granted in its place is
seen when that begins: no event says so before."""


class PlatformColumns(Struct, frozen=True):
    """Columns of a job that only some kinds fill: what Ray calls the job and its cluster."""

    job_status: str = ""
    ray_cluster_name: str = ""
    ray_job_id: str = ""


class JobRow(Struct, frozen=True, kw_only=True, gc=False):
    """The current state of one job (table `job`)."""

    stream_id: StreamId
    shard: int
    version: int
    """Version of the stream that this row reflects."""
    cluster: str
    """Name of the Kubernetes cluster, as this installation calls it."""
    kind: str
    """RayJob, TrainJob or Job."""
    namespace: str
    name: str
    uid: str
    generation: int
    phase: str
    """RayJob: the job deployment status. Empty while new."""
    job_status: str
    """RayJob: what Ray says of the entrypoint."""
    reason: str
    message: str
    attempt: int
    """Number of the current or last attempt, from 1; 0 before the first."""
    retries: int
    """How many retries were granted."""
    succeeded: int
    failed: int
    ray_cluster_name: str
    ray_job_id: str
    created_at: Instant
    """When the object was created in Kubernetes."""
    first_seen_at: Instant
    started_at: Instant | None
    """When the current attempt started."""
    ended_at: Instant | None
    """When the job reached Complete or Failed."""
    deleted_at: Instant | None
    """When the object was seen to be gone."""
    open: bool
    """Whether anything is left to do.

    False once the object is gone, or the job final and cleaned up.
    """
    last_event_at: Instant
    recorded: bool = False
    """Whether another controller decides about it, and it is only recorded."""


class AttemptRow(Struct, frozen=True, kw_only=True, gc=False):
    """One execution of a job (table `attempt`)."""

    stream_id: StreamId
    number: int
    """From 1."""
    generation: int
    """Generation of the specification it was started on."""
    ray_cluster_name: str
    ray_job_id: str
    started_at: Instant
    running_at: Instant | None
    """When the cluster was ready and the attempt Running."""
    ended_at: Instant | None
    outcome: str
    """Empty while it goes on; succeeded, stopped, failed, suspended, deleted, or unknown.

    Unknown: another controller drove it, and how it ended was not seen.
    """
    reason: str
    message: str
    job_status: str
    """The last thing Ray said of the entrypoint."""
    retried: bool
    """Whether a retry was granted after it."""
    inferred: bool = False
    """Whether its life is inferred from what another controller did."""


def begun_row(
    stream: StreamId,
    attempt: SharedAttempt,
    *,
    running: bool = False,
    cluster_name: str = "",
    job_id: str = "",
) -> AttemptRow:
    """Return the row of an attempt that has just begun, or was found; `running`: it runs at once.

    `cluster_name` and `job_id` name its RayCluster and Ray job.
    """
    return AttemptRow(
        stream_id=stream,
        number=attempt.number,
        generation=attempt.generation,
        ray_cluster_name=cluster_name,
        ray_job_id=job_id,
        started_at=attempt.started_at,
        running_at=attempt.started_at if running else None,
        ended_at=None,
        outcome="",
        reason="",
        message="",
        job_status="",
        retried=False,
    )


class DecisionRow(Struct, frozen=True, kw_only=True):
    """Something resolved to be done at a later instant (table `decision`)."""

    decision_id: DecisionId
    stream_id: StreamId
    shard: int
    attempt: int
    kind: str
    state: str
    """pending, fired or cancelled."""
    due_at: Instant
    scheduled_at: Instant
    resolved_at: Instant | None
    cause: str
    """Why it was scheduled, in words."""
    resolution: str
    """Why it was cancelled, or what firing it brought about; empty while pending."""


class EffectRow(Struct, frozen=True, kw_only=True):
    """Something to be done outside (table `effect`)."""

    effect_id: EffectId
    stream_id: StreamId
    shard: int
    attempt: int
    kind: str
    target: str
    """What it acts on: a name, or a submission id at an address."""
    state: str
    """requested, succeeded, failed or superseded."""
    requested_at: Instant
    ended_at: Instant | None
    trouble: str
    """The latest kind of failure that was met, in words; empty if none."""


class RowChanges(Struct, frozen=True, kw_only=True):
    """The rows that one append puts in place of their predecessors."""

    job: JobRow
    attempts: tuple[AttemptRow, ...] = ()
    decisions: tuple[DecisionRow, ...] = ()
    effects: tuple[EffectRow, ...] = ()
