"""Which effects a RayJob's state calls for, in the order in which they are to be done."""

from collections.abc import Iterator

from core.jobs.effects import EffectKind, WantedEffect
from core.rayjob.names import submitter_name
from core.rayjob.phases import Phase
from core.rayjob.spec import SubmissionMode
from core.rayjob.state import (
    KnownManifest,
    RayJobState,
    has_submitter,
    is_dormant,
    is_final,
    is_leaving,
    selects_cluster,
)

CLEANING = frozenset({Phase.RETRYING, Phase.SUSPENDING})
"""Phases in which everything that the attempt made goes away."""


def wanted_effects(state: RayJobState) -> tuple[WantedEffect, ...]:
    """Return every effect that should be under way now; none that waits after a refusal."""
    manifest = state.manifest
    if is_dormant(state) or manifest is None:
        return ()
    wanted = _farewell(state, manifest) if is_leaving(state) else _life(state, manifest)
    waiting = {item.key for item in state.refused if item.waiting}
    return tuple(effect for effect in wanted if effect.key not in waiting)


def _farewell(state: RayJobState, manifest: KnownManifest) -> Iterator[WantedEffect]:
    """Yield what is done for an object that is being deleted: stop the Ray job, let the object go.

    Source: KubeRay's handling of `ray.io/rayjob-finalizer`; the stop is tried once.
    """
    if not manifest.finalizer:
        return
    attempt = state.attempt
    over = state.entrypoint.has_ended or is_final(state)
    running = attempt is not None and not (over or attempt.stop_tried or attempt.cleared)
    if attempt is not None and running and attempt.address and attempt.job_id:
        yield WantedEffect(
            kind=EffectKind.STOP_ENTRYPOINT, name=attempt.job_id, address=attempt.address
        )
        return
    yield WantedEffect(kind=EffectKind.REMOVE_FINALIZER, name="rayjob")


def _life(state: RayJobState, manifest: KnownManifest) -> Iterator[WantedEffect]:
    begun = state.phase is not Phase.VALIDATION_FAILED and not is_final(state)
    if begun and not manifest.finalizer:
        yield WantedEffect(kind=EffectKind.ADD_FINALIZER, name="rayjob")
    if state.phase is Phase.INITIALIZING:
        yield from _building(state)
    elif state.phase is Phase.RUNNING:
        yield from _submitting(state, manifest)
    elif state.phase in CLEANING:
        yield from _cleaning(state)
    elif is_final(state) and state.shutdown_due:
        yield from _cluster_deletion(state)
    for stray in state.strays:
        if not stray.delete_asked:
            yield WantedEffect(kind=EffectKind.DELETE_CLUSTER, name=stray.name, uid=stray.uid)


def _building(state: RayJobState) -> Iterator[WantedEffect]:
    """Yield what is made for an attempt.

    What nobody knows to exist is asked for: a creation that meets it finds it.
    """
    attempt, identity, cluster = state.attempt, state.identity, state.cluster
    if attempt is None or identity is None:
        return
    if cluster is None or not cluster.uid:
        if not selects_cluster(state):
            yield WantedEffect(kind=EffectKind.CREATE_CLUSTER, name=attempt.cluster_name)
        return
    ready = cluster.state == "ready" and cluster.address != ""
    made = state.submitter is not None and state.submitter.uid != ""
    if ready and has_submitter(state) and not made:
        yield WantedEffect(
            kind=EffectKind.CREATE_SUBMITTER,
            name=submitter_name(identity.name),
            address=cluster.address,
        )


def _submitting(state: RayJobState, manifest: KnownManifest) -> Iterator[WantedEffect]:
    attempt = state.attempt
    if attempt is None or manifest.spec.submission_mode is not SubmissionMode.HTTP:
        return
    if not attempt.submitted and not attempt.submit_refused and attempt.job_id:
        yield WantedEffect(
            kind=EffectKind.SUBMIT_ENTRYPOINT, name=attempt.job_id, address=attempt.address
        )


def _cleaning(state: RayJobState) -> Iterator[WantedEffect]:
    yield from _cluster_deletion(state)
    submitter = state.submitter
    if submitter is not None and not submitter.delete_asked and not submitter.deleting:
        yield WantedEffect(kind=EffectKind.DELETE_SUBMITTER, name=submitter.name, uid=submitter.uid)


def _cluster_deletion(state: RayJobState) -> Iterator[WantedEffect]:
    cluster = state.cluster
    if cluster is None or selects_cluster(state):
        return
    if not cluster.delete_asked and not cluster.deleting:
        yield WantedEffect(kind=EffectKind.DELETE_CLUSTER, name=cluster.name, uid=cluster.uid)
