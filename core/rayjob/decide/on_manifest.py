"""Events that follow from an observation of the RayJob object."""

from msgspec.structs import replace

from jobledger.core.jobs.control.control_change import ControlRules, control_of
from jobledger.core.jobs.control.lost_history import unknown_job
from jobledger.core.jobs.control.went_back import is_old_look
from jobledger.core.jobs.events import ControlReleased
from jobledger.core.jobs.manifest.news import manifest_changes
from jobledger.core.jobs.outcomes import rejected
from jobledger.core.rayjob.decide.on_lost_history import is_unknown_but_ours, signs
from jobledger.core.rayjob.events.lifecycle import (
    DeletionStarted,
    JobAdopted,
    JobDeleted,
    JobDiscovered,
    ManifestReceived,
    OthersStatusObserved,
    RayJobEvent,
)
from jobledger.core.rayjob.observations.observations import (
    INVALID_STATUS,
    ManifestGone,
    ManifestSeen,
    SeenStatus,
)
from jobledger.core.rayjob.spec.spec import waits_since_creation
from jobledger.core.rayjob.state import KnownManifest, RayJobState, is_final, known_manifest
from jobledger.core.rayjob.status.status import status
from jobledger.core.values.documents import text


def _shows_own(state: RayJobState, seen: ManifestSeen) -> bool:
    own, shown = status(state), seen.status
    return (
        shown.phase == text(own, "jobDeploymentStatus")
        and shown.cluster_name == text(own, "rayClusterName")
        and (shown.succeeded, shown.failed) == (state.succeeded, state.failed)
    )


_RAYJOB_CONTROL: ControlRules[RayJobState, ManifestSeen, OthersStatusObserved] = ControlRules(
    no_status=SeenStatus(phase=""),
    shown=lambda seen: OthersStatusObserved(at=seen.at, status=seen.status),
    signs=signs,
    is_final=is_final,
    shows_own=_shows_own,
)


def on_manifest_seen(state: RayJobState, seen: ManifestSeen) -> tuple[RayJobEvent, ...]:
    """Return what is new about the object; an old look at it is no news."""
    known = state.manifest
    if state.deleted_at is not None:
        return _returned(state, seen, known)
    if known is None:
        is_told = (seen.spec.is_ours or seen.recorded) and not seen.in_between
        return _first_sight(seen) if is_told else ()
    if is_old_look(seen, known):
        return ()
    if seen.problem is not None and seen.problem.kind == INVALID_STATUS and state.attempt:
        seen = replace(seen, problem=None)  # the status is ours; another mode is for later attempts
    return *_changes(seen, known), *control_of(_RAYJOB_CONTROL, state, seen)


def _returned(
    state: RayJobState, seen: ManifestSeen, known: KnownManifest | None
) -> tuple[RayJobEvent, ...]:
    """Return that an object that was gone is there again, and waits for its finalizer.

    An etcd that was restored brings it back. It is left alone, but for that it may go.
    """
    waits = seen.finalizer and seen.deleting_at is not None
    is_late = state.deleted_at is not None and seen.at <= state.deleted_at
    if known is None or not waits or is_late or state.recorded or not seen.spec.is_ours:
        return ()
    return _changes(seen, known) if state.returned else _news(seen, known)


def _changes(seen: ManifestSeen, known: KnownManifest) -> tuple[RayJobEvent, ...]:
    return () if known_manifest(seen, known) == known else _news(seen, known)


def _news(seen: ManifestSeen, known: KnownManifest) -> tuple[RayJobEvent, ...]:
    received = _received(seen, with_document=seen.digest != known.digest)
    return manifest_changes(seen, known, received, DeletionStarted)


def on_manifest_gone(state: RayJobState, gone: ManifestGone) -> tuple[RayJobEvent, ...]:
    """Return the end of the job's stream."""
    if state.manifest is None or (state.deleted_at is not None and not state.returned):
        return ()
    return (JobDeleted(at=gone.at),)


def _first_sight(seen: ManifestSeen) -> tuple[RayJobEvent, ...]:
    discovered = JobDiscovered(at=seen.at, identity=seen.identity)
    received = _received(seen, with_document=True)
    leaving = () if seen.deleting_at is None else (DeletionStarted(at=seen.deleting_at),)
    leaving = *rejected(seen.at, seen.option_problems), *leaving
    if seen.recorded:
        leaving = *leaving, ControlReleased(at=seen.at, why=seen.recorded)
    if is_unknown_but_ours(seen):
        shown = OthersStatusObserved(at=seen.at, status=seen.status)
        return discovered, received, *leaving, unknown_job(seen), shown
    if seen.status.phase or seen.status.failed or seen.status.succeeded:
        begun = not waits_since_creation(seen.spec, seen.generation)
        adopted = JobAdopted(at=seen.at, status=seen.status, begun=begun)
        if seen.recorded:
            return discovered, received, *leaving, adopted
        return discovered, received, adopted, *leaving
    return discovered, received, *leaving


def _received(seen: ManifestSeen, *, with_document: bool) -> ManifestReceived:
    return ManifestReceived(
        at=seen.at,
        generation=seen.generation,
        digest=seen.digest,
        spec=seen.spec,
        policy=seen.policy,
        finalizer=seen.finalizer,
        problem=seen.problem,
        deleting_at=seen.deleting_at,
        document=seen.document if with_document else {},
        options=seen.options,
        option_problems=seen.option_problems,
    )
