"""The row of a RayJob in the table `job`."""

from collections.abc import Sequence

from core.jobs.rows import JobRow
from core.rayjob.state import RayJobState, is_open
from core.values.ids import shard_of
from core.values.instants import Instant


def job_row(
    state: RayJobState, *, version: int, instants: Sequence[Instant], before: JobRow | None
) -> JobRow:
    """Return the row after the event of `version`; `before` is the row before some events.

    `instants` are those at which these events were true.
    """
    identity, attempt, manifest = state.identity, state.attempt, state.manifest
    assert identity is not None, "a stream begins with who the job is"
    shown = attempt is not None and not attempt.cleared
    return JobRow(
        stream_id=identity.stream_id,
        shard=shard_of(identity.stream_id),
        version=version,
        cluster=identity.cluster,
        kind="RayJob",
        namespace=identity.namespace,
        name=identity.name,
        uid=identity.uid,
        generation=manifest.generation if manifest is not None else 0,
        phase=state.phase.value,
        job_status=state.entrypoint.status.value,
        reason=state.reason,
        message=state.message,
        attempt=attempt.number if attempt is not None else 0,
        retries=state.retries,
        succeeded=state.succeeded,
        failed=state.failed,
        ray_cluster_name=attempt.cluster_name if attempt is not None and shown else "",
        ray_job_id=attempt.job_id if attempt is not None and shown else "",
        created_at=identity.created_at,
        first_seen_at=before.first_seen_at if before is not None else instants[0],
        started_at=state.started_at,
        ended_at=state.ended_at,
        deleted_at=state.deleted_at,
        open=is_open(state),
        last_event_at=max([*instants, before.last_event_at] if before is not None else instants),
    )
