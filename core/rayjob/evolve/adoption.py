"""Applies the adoption of a RayJob that already had a status when it was first seen."""

from msgspec.structs import replace

from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.rayjob.observations.ray_job import Entrypoint
from jobledger.core.rayjob.phases import FINAL, JobStatus, Phase
from jobledger.core.rayjob.spec.spec import SubmissionMode
from jobledger.core.rayjob.state import Attempt, KnownCluster, RayJobState, selected
from jobledger.core.values.instants import Instant

_ACTIVE = frozenset({Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING})


_WAITING = frozenset({Phase.NEW, Phase.INITIALIZING, Phase.SUSPENDING, Phase.SUSPENDED})
"""Phases that KubeRay shows of a job that waits since its creation, one after the other."""


def adopted(state: RayJobState, status: SeenStatus, at: Instant, *, begun: bool) -> RayJobState:
    """Return the state that a status amounts to; nothing is known of attempts before its own.

    Args:
        state: What is known so far: the manifest.
        status: The status as it was found.
        at: When it was found.
        begun: Whether an attempt can have begun; a status of a Ray job shows that one has.
    """
    has_run = begun or bool(status.job_status)
    if not has_run and _adopted_phase(state, status) in _WAITING:
        phase = Phase.SUSPENDED if status.phase == Phase.SUSPENDED.value else Phase.NEW
        return replace(state, phase=phase, started_at=status.started_at)
    phase = _adopted_phase(state, status)
    paused = Phase.INITIALIZING if _has_names(state, status) else Phase.NEW
    number = status.failed + (phase not in {Phase.FAILED, Phase.RETRYING})
    attempt, cluster, started_at = None, None, status.started_at
    if started_at is None and phase in FINAL and status.cluster_name:
        started_at = status.ended_at or at  # its RayCluster is its own all the same
    if started_at is not None and phase is not Phase.NEW:
        attempt = Attempt(
            number=max(number, 1),
            cluster_name=status.cluster_name,
            job_id=status.job_id,
            generation=0,
            started_at=started_at,
            selected=status.cluster_name == selected(state) != "",
            mode=state.manifest.spec.submission_mode if state.manifest is not None else None,
            address=status.address,
            submitted=status.job_status != "",
            retry_at=started_at if phase is Phase.RETRYING else None,
            cleared=phase is Phase.SUSPENDED,
        )
        cluster = KnownCluster(name=status.cluster_name) if status.cluster_name else None
    if attempt is None and phase not in FINAL:
        phase, paused = Phase.NEW, Phase.NEW
    ray = {item.value: item for item in JobStatus}
    return replace(
        state,
        phase=phase,
        paused=paused if phase is Phase.VALIDATION_FAILED else None,
        attempt=attempt,
        cluster=cluster,
        entrypoint=Entrypoint(status=ray.get(status.job_status, JobStatus.NEW)),
        reason=status.reason,
        message=status.message,
        started_at=status.started_at,
        deadline_from=None if attempt is None or attempt.cleared else attempt.started_at,
        ended_at=status.ended_at or (at if phase in FINAL else None),
        succeeded=status.succeeded,
        failed=status.failed,
    )


def _adopted_phase(state: RayJobState, status: SeenStatus) -> Phase:
    """Return the phase to go on from: the one that is shown, if the rest of the status allows it.

    A job that shows Running and no address of its head would never be asked about; without names
    nothing of it could be found.
    """
    if (end := end_beneath(status)) is not None:
        return end
    phase = {phase.value: phase for phase in Phase}.get(status.phase, Phase.NEW)
    if phase in _ACTIVE and not _has_names(state, status):
        return Phase.NEW
    unnamed = phase is Phase.RUNNING and not status.job_id
    if phase in _ACTIVE and (unnamed or not status.address):
        return Phase.INITIALIZING
    return phase


def end_beneath(status: SeenStatus) -> Phase | None:
    """Return how a job had ended whose end KubeRay has written over with ValidationFailed.

    It validates in every phase. It sets endTime at the end only, and never takes it back.
    """
    if status.phase != Phase.VALIDATION_FAILED.value or status.ended_at is None:
        return None
    succeeded = status.job_status == JobStatus.SUCCEEDED.value and status.failed == 0
    stopped = status.job_status == JobStatus.STOPPED.value
    return Phase.COMPLETE if status.succeeded or succeeded or stopped else Phase.FAILED


def _has_names(state: RayJobState, status: SeenStatus) -> bool:
    """Return whether a status names all that an attempt needs a name for."""
    spec = state.manifest.spec if state.manifest is not None else None
    by_user = spec is not None and spec.submission_mode is SubmissionMode.INTERACTIVE
    return status.cluster_name != "" and (status.job_id != "" or by_user)
