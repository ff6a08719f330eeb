"""The effects that a RayJob's state calls for, in the order in which they are carried out."""

from collections.abc import Iterator

from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.pending.effects import DesiredEffect, EffectKind
from jobledger.core.rayjob.deletion import due_policy, is_achieved
from jobledger.core.rayjob.manifests.gang_scheduling import VOLCANO, pod_group_name
from jobledger.core.rayjob.names import head_service_name, submitter_name
from jobledger.core.rayjob.own_cluster import owns_cluster
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.spec.spec import DeletionPolicy, SubmissionMode
from jobledger.core.rayjob.state import (
    Attempt,
    KnownManifest,
    RayJobState,
    awaits_cluster,
    gives_up,
    has_submitter,
    is_final,
    keeps_cluster,
    selects_cluster,
    submission_mode,
)

CLEANING = frozenset({Phase.RETRYING, Phase.SUSPENDING})
"""Phases in which everything that the attempt made goes away."""

_LET_GO = DesiredEffect(kind=EffectKind.REMOVE_FINALIZER, name="rayjob")


def called_for(state: RayJobState) -> tuple[DesiredEffect, ...]:
    """Return every effect that the state calls for, whether it has to wait or not."""
    manifest = state.manifest
    if manifest is not None and state.returned and manifest.finalizer:
        return (_LET_GO,)
    if is_dormant(state) or manifest is None:
        return ()
    return tuple(_farewell(state, manifest) if is_leaving(state) else _life(state, manifest))


def _farewell(state: RayJobState, manifest: KnownManifest) -> Iterator[DesiredEffect]:
    """Yield what is done for an object that is being deleted: stop the Ray job, let the object go.

    Source: KubeRay's handling of `ray.io/rayjob-finalizer`; the stop is tried once.
    """
    if not manifest.finalizer:
        return
    attempt = state.attempt
    gone = is_final(state) and is_achieved(state, DeletionPolicy.CLUSTER)
    over = state.entrypoint.has_ended or gone
    running = attempt is not None and not (over or attempt.stop_tried or attempt.cleared)
    if attempt is not None and running and attempt.address and attempt.job_id:
        yield DesiredEffect(
            kind=EffectKind.STOP_ENTRYPOINT, name=attempt.job_id, address=attempt.address
        )
        return
    yield _LET_GO


def _life(state: RayJobState, manifest: KnownManifest) -> Iterator[DesiredEffect]:
    failing = state.attempt is not None and state.attempt.failing is not None
    begun = state.phase is not Phase.VALIDATION_FAILED and not is_final(state)
    if begun and not manifest.finalizer:
        yield DesiredEffect(kind=EffectKind.ADD_FINALIZER, name="rayjob")
    if failing:
        pass  # nothing more is begun: the verdict comes in a moment
    elif state.phase is Phase.INITIALIZING:
        yield from _building(state)
    elif state.phase in (Phase.WAITING, Phase.RUNNING):
        yield from _building_again(state)
        yield from _submitting(state)
        yield from _leading_there(state)
    elif state.phase in CLEANING:
        yield from _cleaning(state)
    elif is_final(state):
        yield from _afterwards(state)
    yield from _ungrouping(state)
    for orphan in state.orphans:
        if not (orphan.delete_asked or orphan.name == manifest.spec.cluster_selector):
            yield DesiredEffect(kind=EffectKind.DELETE_CLUSTER, name=orphan.name, uid=orphan.uid)
    late = state.orphan_submitter
    if late is not None and not late.delete_asked:
        yield DesiredEffect(kind=EffectKind.DELETE_SUBMITTER, name=late.name, uid=late.uid)


def is_grouped(state: RayJobState) -> bool:
    """Return whether a PodGroup must say what the attempt needs before anything is made."""
    manifest = state.manifest
    volcano = manifest is not None and manifest.policy.batch_scheduler == VOLCANO
    return volcano and not selects_cluster(state)


def _ungrouping(state: RayJobState) -> Iterator[DesiredEffect]:
    """Yield that the PodGroup asks for no more than what is left, and for nobody once that is gone.

    Between two attempts too: a pause must not keep the queue's resources from others.
    """
    identity, cluster = state.identity, state.cluster
    if not state.pod_group_held or identity is None:
        return
    name = pod_group_name(identity.name)
    between = state.phase is Phase.RETRYING and state.submitter is None
    over = between or state.phase is Phase.SUSPENDED or is_final(state)
    gone = cluster is None or (is_final(state) and cluster.deleting)
    if over and gone:
        yield DesiredEffect(kind=EffectKind.CLEAR_POD_GROUP, name=name)
    elif is_final(state) and cluster is not None and not state.pod_group_reduced:
        policy = due_policy(state)  # what is about to become less is counted afterwards
        if is_achieved(state, policy):
            yield DesiredEffect(kind=EffectKind.CLEAR_POD_GROUP, name=name, uid=cluster.uid)


def _building(state: RayJobState) -> Iterator[DesiredEffect]:
    """Yield what is made for an attempt.

    What nobody knows to exist is asked for: a creation that meets it finds it. None is asked for
    while an orphan RayCluster is there: of a job there is one at a time.
    """
    attempt, identity, cluster = state.attempt, state.identity, state.cluster
    if attempt is None or identity is None:
        return
    is_there = cluster is not None and cluster.uid != ""
    if is_grouped(state) and not attempt.pod_group:  # also one that somebody deleted
        yield DesiredEffect(kind=EffectKind.APPLY_POD_GROUP, name=pod_group_name(identity.name))
        if not is_there:
            return
    if cluster is None or not is_there:
        yield from _getting_cluster(state, attempt)
        return
    ready = cluster.state == "ready" and cluster.address != ""
    made = state.submitter is not None and state.submitter.uid != ""
    is_free = state.orphan_submitter is None or any(
        effect.desired.kind is EffectKind.CREATE_SUBMITTER for effect in state.effects
    )
    if ready and has_submitter(state) and not made and is_free:
        yield DesiredEffect(
            kind=EffectKind.CREATE_SUBMITTER,
            name=submitter_name(identity.name),
            address=cluster.address,
        )


def _getting_cluster(state: RayJobState, attempt: Attempt) -> Iterator[DesiredEffect]:
    selects = selects_cluster(state)
    kind = EffectKind.FIND_CLUSTER if selects else EffectKind.CREATE_CLUSTER
    is_asked_for = any(effect.desired.kind is kind for effect in state.effects)
    if selects or is_asked_for or not state.orphans:
        yield DesiredEffect(kind=kind, name=attempt.cluster_name)


def _building_again(state: RayJobState) -> Iterator[DesiredEffect]:
    """Yield a RayCluster in place of one that went before anything was handed in."""
    attempt, cluster = state.attempt, state.cluster
    if attempt is not None and attempt.cluster_again and (cluster is None or not cluster.uid):
        yield from _getting_cluster(state, attempt)


def _afterwards(state: RayJobState) -> Iterator[DesiredEffect]:
    """Yield what goes after the end of the job, by what is due."""
    identity, cluster, policy = state.identity, state.cluster, due_policy(state)
    if gives_up(state):
        yield from _cleaning(state)
    if policy is DeletionPolicy.SELF and identity is not None and not state.job_delete_asked:
        yield DesiredEffect(kind=EffectKind.DELETE_JOB, name=identity.name, uid=identity.uid)
    if policy is DeletionPolicy.CLUSTER and not gives_up(state):
        yield from _cluster_deletion(state)
    going = is_achieved(state, DeletionPolicy.WORKERS) or gives_up(state)
    if policy is DeletionPolicy.WORKERS and cluster is not None and not going:
        yield DesiredEffect(kind=EffectKind.SUSPEND_WORKERS, name=cluster.name, uid=cluster.uid)


def _leading_there(state: RayJobState) -> Iterator[DesiredEffect]:
    """Yield what lets the Service of the job's head lead to the attempt's RayCluster."""
    attempt, identity = state.attempt, state.identity
    if attempt is None or identity is None or selects_cluster(state):
        return
    if state.phase is not Phase.RUNNING:
        return
    leads_to = state.service_leads_to
    if leads_to != attempt.cluster_name:
        kind = EffectKind.UPDATE_SERVICE if leads_to else EffectKind.CREATE_SERVICE
        yield DesiredEffect(kind=kind, name=head_service_name(identity.name))


def _submitting(state: RayJobState) -> Iterator[DesiredEffect]:
    attempt = state.attempt
    if attempt is None or submission_mode(state) is not SubmissionMode.HTTP:
        return
    if awaits_cluster(state):
        return
    if not attempt.submitted and not attempt.submit_refused and attempt.job_id:
        yield DesiredEffect(
            kind=EffectKind.SUBMIT_ENTRYPOINT, name=attempt.job_id, address=attempt.address
        )


def _cleaning(state: RayJobState) -> Iterator[DesiredEffect]:
    if not keeps_cluster(state):
        yield from _cluster_deletion(state)
    submitter = state.submitter
    if submitter is not None and not submitter.delete_asked and not submitter.deleting:
        yield DesiredEffect(
            kind=EffectKind.DELETE_SUBMITTER, name=submitter.name, uid=submitter.uid
        )


def _cluster_deletion(state: RayJobState) -> Iterator[DesiredEffect]:
    cluster = state.cluster
    if cluster is None or not owns_cluster(state):
        return
    if not cluster.delete_asked and not cluster.deleting:
        yield DesiredEffect(kind=EffectKind.DELETE_CLUSTER, name=cluster.name, uid=cluster.uid)
