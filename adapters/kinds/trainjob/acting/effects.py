"""Carries out the effects of TrainJobs: build and apply objects, delete the JobSet.

Building and creating are told apart by where something goes wrong: finding the runtime, writing its
snapshot and every plugin belong to building; the objects that are built belong to creating.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from jobledger.adapters.kinds.trainjob.acting.apply import ApplyFailed, Work, put
from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.kinds.trainjob.snapshot_text import read_snapshot, snapshot_text
from jobledger.adapters.kinds.trainjob.watching.observations import runtime_digest
from jobledger.adapters.kinds.trainjob.watching.watched import TRAINJOB_WATCHING
from jobledger.adapters.service.effects.admitted import refuse_if_not_suspended_as_asked
from jobledger.adapters.service.effects.context import (
    CAUSE_CHARACTERS_MAX,
    Done,
    KindActing,
    SupersededEffect,
    World,
    exactly,
    refuse_if_edited,
    wait_if_gone,
)
from jobledger.adapters.service.effects.deleting import delete_own
from jobledger.adapters.service.objects.declared_secrets import (
    secrets_of,
    secrets_of_parts,
    secrets_of_runtime,
)
from jobledger.adapters.service.objects.kept_children import CachedRuntime
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.objects.packing import pack
from jobledger.core.errors import ClusterError, RequestThrottled
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect
from jobledger.core.kinds import JobState
from jobledger.core.log.keyed_digests import digest
from jobledger.core.log.redaction.redact import LateSecrets, Redactor, secrets_in
from jobledger.core.ports.cluster import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIGMAPS,
    JOBSETS,
    TRAINING_RUNTIMES,
    TRAINJOBS,
)
from jobledger.core.trainjob.building.build import build, owned
from jobledger.core.trainjob.building.framework import BuildFailed, BuiltObject
from jobledger.core.trainjob.building.outcomes import ApplyOutcome, write_outcome
from jobledger.core.trainjob.building.runtimes import (
    check_snapshot,
    content_of,
    not_found,
    snapshot_of,
    snapshotted,
)
from jobledger.core.trainjob.names import SNAPSHOT_KEY, snapshot_name
from jobledger.core.trainjob.spec import RuntimeRef, read_runtime_ref
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.documents import Json, Manifest, child, number, text


def act_trainjob(world: World, job: CachedJob, effect: OpenEffect, state: TrainJobState) -> Done:
    """Do it.

    Raises:
        SupersededEffect: the live specification is not the one it was decided on.
        ApplyFailed: the objects cannot be built, or not all be applied.
        ClusterError: the JobSet cannot be deleted, or went with its job.
    """
    if effect.desired.kind is EffectKind.DELETE_JOBSET:
        return delete_own(world, job, JOBSETS, effect.desired)
    manifest = job.manifest
    refuse_if_edited(world, job, effect)
    if state.created_once and state.jobset is None:
        wait_if_gone(world, job, TRAINJOBS)
    work = Work(world, job, manifest, state)
    if text(manifest, "metadata", "deletionTimestamp"):
        return _suspend_or_resume(work)
    try:
        return _built_and_applied(work)
    except ApplyFailed as failure:
        if not isinstance(failure.error, RequestThrottled):
            _suspend_at_least(work)
        raise


def _suspend_at_least(work: Work) -> None:
    """Suspend the JobSet of a job whose objects cannot be built or applied, if it is to be."""
    jobset = work.state.jobset
    if jobset is None or jobset.suspend or child(work.manifest, "spec").get("suspend") is not True:
        return
    with suppress(ApplyFailed, SupersededEffect, ClusterError):  # the failure is told anyway
        _suspend_or_resume(work)


def _built_and_applied(work: Work) -> Done:
    try:
        runtime = _runtime(work)
        built = build(work.world.mapper.of(TrainInstallation).plugins, work.manifest, runtime)
    except BuildFailed as error:
        raise work.failed(_scrubbed(work, str(error)), building=True, may_pass=False) from error
    except ApplyFailed as error:
        raise work.failed(
            _scrubbed(work, error.cause),
            building=True,
            may_pass=error.outcome.may_pass,
            error=error.error,
        ) from error
    return _applied(work, built, runtime)


def _scrubbed(work: Work, cause: str) -> str:
    """Return a cause without the secrets of the job and its runtime."""
    return _redactor(work, ()).text(cause, CAUSE_CHARACTERS_MAX)


def _redactor(work: Work, documents: Sequence[Manifest]) -> Redactor:
    """Return what knows all that the job is built from; it knows so from now on."""
    parts = [*secrets_of_parts(work.world.live, work.job, TRAINJOB_WATCHING.parts)]
    if work.live is not None:
        parts.append(secrets_of_runtime(work.live))
    quotable = (*documents, *work.quotable)
    parts.append(LateSecrets.of(frozenset().union(*(secrets_in(one, None) for one in quotable))))
    redactor = work.job.redactor
    for part in parts:
        known = work.world.live.learn(work.job.identity.uid, part)
        redactor = known.redactor if known is not None else redactor.learning(part)
    return redactor


def _runtime(work: Work) -> Manifest:
    """Return the runtime to build from; it is snapshotted first, if it is not yet.

    Until everything was created once, a changed runtime is snapshotted anew.
    """
    world, job = work.world, work.job
    ref = read_runtime_ref(work.manifest)
    live = world.live.runtime(job.runtime)
    work.live, work.runtime = live, live.digest if live is not None else ""
    name = snapshot_name(job.identity.name)
    snapshot = work.known(CONFIGMAPS, name, building=True)
    if snapshot is None and work.state.created_once:
        snapshot = work.get(CONFIGMAPS, name, building=True)
    if snapshot is not None:
        work.refuse_if_taken(CONFIGMAPS, snapshot, building=True)
        held, _ = read_snapshot(text(snapshot, "data", SNAPSHOT_KEY))
        runtime = check_snapshot(snapshot, job.identity.uid, ref, held)
        key = world.mapper.redaction_key
        same = live is None or digest(key, content_of(runtime)) == live.digest
        if work.state.created_once or same:
            return runtime
    if live is None:
        live = _asked_for(work, ref)
        work.live, work.runtime = live, live.digest
    runtime = snapshotted(live.manifest, ref)
    text_of_runtime = snapshot_text(runtime)
    made = BuiltObject(resource=CONFIGMAPS, manifest=snapshot_of(work.manifest, text_of_runtime))
    put(work, replace(made, manifest=owned(made, work.manifest)), building=True)
    work.snapshot = True
    return runtime


def _asked_for(work: Work, ref: RuntimeRef) -> CachedRuntime:
    """Ask for a runtime that no watch has told of: one kind's watch may lag behind another's."""
    resource = CLUSTER_TRAINING_RUNTIMES if ref.is_cluster_wide else TRAINING_RUNTIMES
    _, namespace, name = work.job.runtime
    try:
        found = work.world.cluster.get(resource, namespace, name)
    except ClusterError as error:
        cause = f"{resource.kind} {name}: {error}"
        raise work.failed(cause, building=True, may_pass=True, error=error) from error
    if found is None:
        raise work.failed(not_found(ref), building=True, may_pass=True)
    return CachedRuntime(
        uid=text(found, "metadata", "uid"),
        version=text(found, "metadata", "resourceVersion"),
        digest=runtime_digest(work.world.mapper, found),
        packed=pack(found),
        secrets=LateSecrets.of(secrets_of(found)),
    )


def _applied(work: Work, built: Sequence[BuiltObject], runtime: Manifest) -> Done:
    documents = [runtime, *(item.manifest for item in built)]
    redactor = _redactor(work, documents)
    names = [f"ConfigMap/{snapshot_name(work.job.identity.name)}"] if work.snapshot else []
    sent: dict[str, Json] = {}
    jobset: Manifest = {}
    try:
        for item in built:
            there, is_written = put(work, item)
            jobset = there if item.resource == JOBSETS else jobset
            if is_written:
                names.append(item.name)
                sent[item.name] = redactor.document(item.manifest)
    except ApplyFailed as error:
        cause = _redactor(work, documents).text(error.cause, CAUSE_CHARACTERS_MAX)
        raise ApplyFailed(cause, error.outcome, error.error) from error
    outcome = ApplyOutcome(
        runtime=work.runtime,
        jobset_uid=text(jobset, "metadata", "uid"),
        jobset_generation=number(jobset, "metadata", "generation") or 0,
        jobset_suspend=child(jobset, "spec").get("suspend") is True,
        names=tuple(names),
        snapshot=work.snapshot,
    )
    uid = text(jobset, "metadata", "uid")
    return Done(uid=uid, sent=sent, details=write_outcome(outcome), already=not names)


def _act(world: World, job: CachedJob, effect: OpenEffect, state: JobState) -> Done:
    assert isinstance(state, TrainJobState), "a stream is one job, of one kind"
    return act_trainjob(world, job, effect, state)


TRAINJOB_ACTING = KindActing(act=_act)


def _suspend_or_resume(work: Work) -> Done:
    """Bring spec.suspend of the job's JobSet to what the TrainJob wants, without building.

    For a job that is being deleted and held by somebody's finalizer, of which nothing is to be made
    anew; and for a job whose objects cannot be built or applied: what runs can always be stopped.

    Raises:
        SupersededEffect: there is no JobSet of the job, or it is being deleted.
        ApplyFailed: the JobSet cannot be asked for.
        ClusterError: the API server refuses the change.
    """
    wanted = child(work.manifest, "spec").get("suspend") is True
    name = work.job.identity.name
    found = work.get(JOBSETS, name, building=False)
    if found is None or not work.is_own(found) or text(found, "metadata", "deletionTimestamp"):
        raise SupersededEffect("the JobSet is gone, or goes")
    already = _is_suspended(found) is wanted
    if not already:
        patch: dict[str, Json] = {**exactly(found), "spec": {"suspend": wanted}}
        found = work.world.cluster.merge_patch(JOBSETS, work.job.identity.namespace, name, patch)
        refuse_if_not_suspended_as_asked(found, suspend=wanted)
    outcome = ApplyOutcome(
        runtime=work.runtime,
        jobset_uid=text(found, "metadata", "uid"),
        jobset_generation=number(found, "metadata", "generation") or 0,
        jobset_suspend=_is_suspended(found),
        names=() if already else (f"{JOBSETS.kind}/{name}",),
    )
    return Done(uid=outcome.jobset_uid, details=write_outcome(outcome), already=already)


def _is_suspended(jobset: Manifest) -> bool:
    """Return spec.suspend of a JobSet."""
    return child(jobset, "spec").get("suspend") is True
