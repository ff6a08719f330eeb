"""The state of one TrainJob: the fold of its stream, and the questions that rules ask of it."""

from msgspec import Struct

from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.evolve.shared_state import SharedAttempt, SharedRecorded, SharedState
from jobledger.core.jobs.manifest.shared_manifest import SharedManifest
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.ports.cluster import CONFIGMAPS
from jobledger.core.trainjob.building.runtimes import INVALID
from jobledger.core.trainjob.conditions import Conditions, found, is_true
from jobledger.core.trainjob.contributions.taking import Contributions
from jobledger.core.trainjob.events import TrainJobReceived
from jobledger.core.trainjob.names import snapshot_name
from jobledger.core.trainjob.observations import JobCounts, JobSetEnd, SeenTrainStatus, TrainJobSeen
from jobledger.core.trainjob.phases import (
    BUILD_FAILED_MESSAGE,
    COMPLETE,
    FAILED,
    FINAL,
    SUSPENDED,
    Phase,
)
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.trainjob.progress import TrainerProgress
from jobledger.core.trainjob.spec import TrainJobSpec
from jobledger.core.values.instants import Instant


class KnownTrainJob(SharedManifest, frozen=True, kw_only=True):
    """The manifest as it was last received."""

    spec: TrainJobSpec
    policy: TrainPolicy


def known_trainjob(told: TrainJobSeen | TrainJobReceived) -> KnownTrainJob:
    """Return what is known of the manifest by a look at it, or by the event of it."""
    return KnownTrainJob(
        generation=told.generation,
        digest=told.digest,
        spec=told.spec,
        policy=told.policy,
        deleting_at=told.deleting_at,
        option_problems=told.option_problems,
    )


class KnownJobSet(Struct, frozen=True, kw_only=True):
    """The JobSet of the job."""

    name: str
    uid: str
    generation: int
    suspend: bool
    restarts: int = 0
    deleting: bool = False
    delete_asked: bool = False
    end: JobSetEnd | None = None
    observed: bool = False
    built_from: int = 0
    """Generation of the TrainJob whose apply made it as it is; 0: nobody here knows."""
    """Whether it was seen, and is not known by the answer to an apply alone."""
    version: str = ""
    """resourceVersion of the look that brought the last news; empty: unknown."""


class Built(Struct, frozen=True, kw_only=True):
    """What became of the latest build and apply."""

    phase: Phase
    """Created, or the failure."""
    digest: str
    """Of the specification."""
    runtime: str
    """Digest of the runtime; empty: there was none."""
    may_pass: bool = False
    jobset_generation: int = 0
    builder: str = ""
    """Versions of what could not build it."""


class TrainAttempt(SharedAttempt, frozen=True, kw_only=True):
    """The current or last execution."""

    jobset_uid: str
    restarts: int
    is_over: bool = False
    outcome: str = ""


class TrainRecorded(SharedRecorded, frozen=True, kw_only=True):
    """The job is only recorded; another controller decides about it, or it is held."""

    shown: SeenTrainStatus | None = None
    """What its status has shown last, as far as it was seen."""


class TrainJobState(SharedState, frozen=True, gc=False):
    """One TrainJob. Every event replaces a field or two of it."""

    manifest: KnownTrainJob | None = None
    phase: Phase = Phase.NEW
    """Kept beside the facts it follows from.

    `core.trainjob.evolve.evolve` sets it after every event.
    """
    conditions: Conditions = ()
    jobs: tuple[JobCounts, ...] = ()
    shown_jobs: bool = False
    """Whether jobsStatus was ever not empty."""
    runtime: str | None = None
    """Digest of the live runtime; None: nothing was heard of it, empty: it is not there."""
    built: Built | None = None
    created_once: bool = False
    """Whether all objects were in place once: from then on the snapshot counts."""
    parts: tuple[str, ...] = ()
    """What was made for the job besides its JobSet and is not known to be gone, as `Kind/name`."""
    rebuild: bool = False
    """Whether something that was applied has gone."""
    rebuild_again: bool = False
    """Whether it went after the apply under way was asked for, which may have met it still."""
    withheld: str = ""
    """Digest of the specification whose runtimePatches are not in force while the job runs."""
    jobset: KnownJobSet | None = None
    attempt: TrainAttempt | None = None
    deadline_from: Instant | None = None
    """Start of the first attempt since the job was created or resumed; None: before it."""
    doomed: bool = False
    """Whether the JobSet is to be deleted, because the deadline passed."""
    recorded: TrainRecorded | None = None
    """The job is only recorded; None: it is controlled here."""
    progress: TrainerProgress | None = None
    """What its Pods have reported last, as far as it was written down."""
    contributions: Contributions = ()
    """What plugins make of its objects."""


def is_final(state: TrainJobState) -> bool:
    """Return whether the job has ended for good."""
    return state.phase in FINAL


def is_applying(state: TrainJobState) -> bool:
    """Return whether an apply was asked for and has not ended, as far as is known."""
    return any(effect.desired.kind is EffectKind.APPLY_OBJECTS for effect in state.effects)


def is_built_by_another(state: TrainJobState, builder: str) -> bool:
    """Return whether a build that failed for good was another version's, so that it may succeed."""
    built = state.built
    if built is None or built.phase is not Phase.BUILD_FAILED or built.may_pass or not builder:
        return False
    return built.builder != builder and not (is_dormant(state) or is_final(state))


def waits_for_snapshot(state: TrainJobState) -> bool:
    """Return whether nothing can be built until somebody deletes the snapshot, which is broken.

    Nobody has to know of the snapshot otherwise: it may be all that was ever made for the job.
    """
    built = state.built
    if built is None or built.phase is not Phase.BUILD_FAILED or built.may_pass:
        return False
    return state.message.startswith(f"{BUILD_FAILED_MESSAGE}: {INVALID}")


def is_broken_snapshot(state: TrainJobState, kind: str, name: str) -> bool:
    """Return whether an object is the broken snapshot without which the next build may succeed."""
    job = state.identity.name if state.identity is not None else ""
    is_snapshot = (kind, name) == (CONFIGMAPS.kind, snapshot_name(job))
    return is_snapshot and waits_for_snapshot(state)


def is_active(state: TrainJobState) -> bool:
    """Return whether any Job is at work."""
    return any(item.active or item.ready for item in state.jobs)


def is_open(state: TrainJobState) -> bool:
    """Return whether anything is left to do or to wait for.

    A finished job with active or ready Jobs is waited for: users are to see that they go. A Job
    whose Pods have succeeded is ready, and no more active, until it is Complete itself.
    """
    if state.deleted_at is not None or state.manifest is None:
        return False
    unfinished = bool(state.effects or state.decisions or state.doomed)
    winding_up = state.jobset is not None and any(item.active or item.ready for item in state.jobs)
    return not is_final(state) or unfinished or winding_up or is_leaving(state)


def deadline_start(state: TrainJobState) -> Instant | None:
    """Return from when the active deadline counts: the latest resume, else the creation."""
    condition = found(state.conditions, SUSPENDED)
    if condition is not None and not condition.is_true:
        return condition.since
    return state.identity.created_at if state.identity is not None else None


def phase_of(state: TrainJobState) -> Phase:
    """Return the phase that the facts amount to; the first that holds."""
    if is_true(state.conditions, COMPLETE):
        return Phase.COMPLETE
    if is_true(state.conditions, FAILED):
        return Phase.FAILED
    if state.built is not None and state.built.phase is not Phase.CREATED:
        return state.built.phase
    if is_true(state.conditions, SUSPENDED):
        return Phase.SUSPENDED
    if is_active(state):
        return Phase.RUNNING
    made_by_others = state.recorded is not None and state.created_once
    return Phase.CREATED if state.built is not None or made_by_others else Phase.NEW
