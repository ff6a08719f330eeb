"""Projection `job`: one row per job."""

from collections.abc import Sequence

from jobledger.core.jobs.rows import JobRow
from jobledger.core.kinds import JobState, kind_of
from jobledger.core.values.ids import shard_of
from jobledger.core.values.instants import Instant


def job_row(
    state: JobState, *, version: int, instants: Sequence[Instant], before: JobRow | None
) -> JobRow:
    """Return the row after the event of `version`; `before` is the row before some events.

    `instants` are those at which these events were true.
    """
    identity, attempt, manifest = state.identity, state.attempt, state.manifest
    assert identity is not None, "a stream begins with who the job is"
    kind = kind_of(state)
    platform = kind.log.columns(state)
    return JobRow(
        stream_id=identity.stream_id,
        shard=shard_of(identity.stream_id),
        version=version,
        cluster=identity.cluster,
        kind=kind.name,
        namespace=identity.namespace,
        name=identity.name,
        uid=identity.uid,
        generation=manifest.generation if manifest is not None else 0,
        phase=state.phase.value,
        job_status=platform.job_status,
        reason=state.reason,
        message=state.message,
        attempt=attempt.number if attempt is not None else 0,
        retries=state.retries,
        succeeded=state.succeeded,
        failed=state.failed,
        ray_cluster_name=platform.ray_cluster_name,
        ray_job_id=platform.ray_job_id,
        created_at=identity.created_at,
        first_seen_at=before.first_seen_at if before is not None else instants[0],
        started_at=state.started_at,
        ended_at=state.ended_at,
        deleted_at=state.deleted_at,
        open=kind.is_open(state),
        last_event_at=max([*instants, before.last_event_at] if before is not None else instants),
        recorded=state.recorded is not None,
    )
