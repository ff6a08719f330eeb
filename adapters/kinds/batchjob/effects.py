"""Carries out the effects of Jobs: makes, suspends and deletes the Jobs of attempts."""

from collections.abc import Callable, Mapping

from jobledger.adapters.service.effects.admitted import (
    refuse_if_disowned,
    refuse_if_not_suspended_as_asked,
)
from jobledger.adapters.service.effects.context import (
    Done,
    KindActing,
    SomebodyElses,
    SupersededEffect,
    World,
    exactly,
    refuse_if_edited,
    refuse_if_taken,
    wait_if_gone,
)
from jobledger.adapters.service.effects.deleting import delete_own
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.batchjob.building import attempt_job
from jobledger.core.batchjob.spec import MANAGED_BY_US
from jobledger.core.batchjob.state import BatchJobState
from jobledger.core.errors import ObjectExists
from jobledger.core.jobs.control.ownership import in_the_way, is_controlled_by
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect
from jobledger.core.kinds import JobState
from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.values.documents import Json, child, text


def _act(world: World, job: CachedJob, effect: OpenEffect, state: JobState) -> Done:
    """Do it.

    Raises:
        SupersededEffect: the live specification is not the one it was decided on, or the attempt is
            over whose Job was to be made.
        SomebodyElses: the name is taken.
        ClusterError: as the port does.
    """
    assert isinstance(state, BatchJobState), "a stream is one job, of one kind"
    attempt, kind = state.attempt, effect.desired.kind
    is_over = attempt is None or attempt.is_over or attempt.number != effect.attempt
    if kind is EffectKind.CREATE_ATTEMPT_JOB and is_over:
        raise SupersededEffect("its attempt is over")
    return _ACTS[kind](world, job, effect)


def _create(world: World, job: CachedJob, effect: OpenEffect) -> Done:
    refuse_if_edited(world, job, effect)
    if effect.attempt > 1:
        wait_if_gone(world, job, BATCH_JOBS)
    manifest = attempt_job(job.manifest, effect.attempt)
    sent = job.redactor.document(manifest)
    assert isinstance(sent, Mapping), "a redacted object is an object"
    try:
        made = world.cluster.create(BATCH_JOBS, manifest)
    except ObjectExists:
        found = world.cluster.get(BATCH_JOBS, job.identity.namespace, effect.desired.name)
        if found is None:
            raise  # it has just gone: later
        refuse_if_taken(BATCH_JOBS, found, job)
        if text(found, "spec", "managedBy") in MANAGED_BY_US:  # it is a job, so it is no attempt
            raise SomebodyElses(in_the_way(BATCH_JOBS.kind, found, job.kind)) from None
        if text(found, "metadata", "deletionTimestamp"):
            raise  # it is on its way out: later
        return Done(uid=text(found, "metadata", "uid"), already=True, sent=sent)
    refuse_if_disowned(world, BATCH_JOBS, made, job)
    return Done(uid=text(made, "metadata", "uid"), sent=sent)


def _delete(world: World, job: CachedJob, effect: OpenEffect) -> Done:
    """Delete a Job after its Pods: the next attempt begins when nothing of this one runs."""
    return delete_own(world, job, BATCH_JOBS, effect.desired, propagation="Foreground")


def _suspend_or_resume(world: World, job: CachedJob, effect: OpenEffect) -> Done:
    """Suspend or resume the Job of an attempt, at the version just seen."""
    namespace, name = job.identity.namespace, effect.desired.name
    suspend = effect.desired.kind is EffectKind.SUSPEND_ATTEMPT_JOB
    found = world.cluster.get(BATCH_JOBS, namespace, name)
    if found is None or not is_controlled_by(found, job.identity.uid):
        raise SupersededEffect("the attempt's Job is gone")
    uid = text(found, "metadata", "uid")
    if (child(found, "spec").get("suspend") is True) is suspend:
        return Done(uid=uid, already=True)
    patch: dict[str, Json] = {**exactly(found), "spec": {"suspend": suspend}}
    changed = world.cluster.merge_patch(BATCH_JOBS, namespace, name, patch)
    refuse_if_not_suspended_as_asked(changed, suspend=suspend)
    return Done(uid=uid)


_ACTS: Mapping[EffectKind, Callable[[World, CachedJob, OpenEffect], Done]] = {
    EffectKind.CREATE_ATTEMPT_JOB: _create,
    EffectKind.DELETE_ATTEMPT_JOB: _delete,
    EffectKind.SUSPEND_ATTEMPT_JOB: _suspend_or_resume,
    EffectKind.RESUME_ATTEMPT_JOB: _suspend_or_resume,
}


BATCHJOB_ACTING = KindActing(act=_act)
