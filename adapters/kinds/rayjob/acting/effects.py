"""Carries out the effects of RayJobs, idempotently, from the live specification.

An act returns what it found or brought about; it raises the errors of the ports, which
`carrying_out` judges.
Names are derived, so an object may be there already: whose it is, `core.jobs.control.ownership`
says.
"""

from collections.abc import Callable, Mapping

from jobledger.adapters.kinds.rayjob.acting.attempt_names import AttemptNames, names_of
from jobledger.adapters.kinds.rayjob.acting.head_services import put_service
from jobledger.adapters.service.effects.admitted import refuse_if_disowned, refuse_if_unlabelled
from jobledger.adapters.service.effects.context import (
    Done,
    KindActing,
    World,
    exactly,
    refuse_if_edited,
    refuse_if_taken,
    wait_if_gone,
)
from jobledger.adapters.service.effects.deleting import delete_own, delete_this
from jobledger.adapters.service.objects.head_tokens import read_token
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.objects.runtime_env import parse_runtime_env
from jobledger.core.errors import (
    KindNotServed,
    ObjectChanged,
    ObjectExists,
    ObjectNotFound,
    RayJobNotFound,
)
from jobledger.core.jobs.control.ownership import is_controlled_by
from jobledger.core.jobs.pending.effects import BUILT_FROM_SPEC, EffectKind, OpenEffect
from jobledger.core.kinds import JobState
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    RAYCLUSTERS,
    RAYJOBS,
    VOLCANO_POD_GROUPS,
    Resource,
)
from jobledger.core.rayjob.manifests.gang_scheduling import build_pod_group
from jobledger.core.rayjob.manifests.http_submission import build_submission
from jobledger.core.rayjob.manifests.manifests import build_cluster, build_submitter
from jobledger.core.rayjob.names import CREATED_BY, FINALIZER, LABEL_CREATED_BY, no_cluster
from jobledger.core.rayjob.observations.children import attempt_of
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.rules.rules import CREATIONS
from jobledger.core.rayjob.spec.installation import Installation
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.rayjob.status.what_queues_see import looks_stopped
from jobledger.core.values.documents import Json, Manifest, child, items, text


def act(world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames) -> Done:
    """Do it. `names` are those of the present attempt, as the state has them.

    Raises:
        SupersededEffect: the live specification is not the one it was decided on.
        SomebodyElses: the name is taken.
        ClusterError, RayApiError: as the ports do.
    """
    if effect.desired.kind in BUILT_FROM_SPEC:
        refuse_if_edited(world, job, effect)
    return _ACTS[effect.desired.kind](world, job, effect, names)


def _add_finalizer(world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames) -> Done:
    del effect, names
    present = [str(item) for item in items(job.manifest, "metadata", "finalizers")]
    if FINALIZER in present:
        return Done(already=True)
    return _set_finalizers(world, job, [*present, FINALIZER])


def _remove_finalizer(
    world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames
) -> Done:
    del effect, names
    present = [str(item) for item in items(job.manifest, "metadata", "finalizers")]
    if FINALIZER not in present and not _has_finalizer(world, job):
        return Done(already=True)
    try:
        return _set_finalizers(world, job, [item for item in present if item != FINALIZER])
    except KindNotServed:
        raise
    except ObjectNotFound:
        return Done(already=True, gone=True)


def _has_finalizer(world: World, job: CachedJob) -> bool:
    """Ask the API server: what a lagging watch shows may be older than the finalizer."""
    identity = job.identity
    fresh = world.cluster.get(RAYJOBS, identity.namespace, identity.name)
    is_ours = fresh is not None and text(fresh, "metadata", "uid") == identity.uid
    return is_ours and FINALIZER in items(fresh, "metadata", "finalizers")


def _set_finalizers(world: World, job: CachedJob, finalizers: list[str]) -> Done:
    """Patch the finalizers, on the very version they were read from.

    Others may be adding theirs.
    """
    identity = job.identity
    patch: dict[str, Json] = {
        "metadata": {
            "uid": identity.uid,
            "resourceVersion": job.version,
            "finalizers": finalizers,
        }
    }
    try:
        answer = world.cluster.merge_patch(RAYJOBS, identity.namespace, identity.name, patch)
    except ObjectChanged:
        fresh = world.cluster.get(RAYJOBS, identity.namespace, identity.name)
        if fresh is None or text(fresh, "metadata", "uid") != identity.uid:
            return Done(gone=True, already=True)
        found = [str(item) for item in items(fresh, "metadata", "finalizers")]
        kept = [item for item in found if item != FINALIZER]
        wanted = [*kept, FINALIZER] if FINALIZER in finalizers else kept
        version = text(fresh, "metadata", "resourceVersion")
        again: dict[str, Json] = {
            "metadata": {
                "uid": identity.uid,
                "resourceVersion": version,
                "finalizers": wanted,
            }
        }
        world.cluster.merge_patch(RAYJOBS, identity.namespace, identity.name, again)
        # What others have changed was not seen yet: a status is written only on what was.
        return Done()
    # The status is written next, on the version that this made.
    world.live.note_version(identity.uid, text(answer, "metadata", "resourceVersion"))
    return Done()


def _create_cluster(world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames) -> Done:
    live = job.manifest
    runtime_env, _ = parse_runtime_env(text(live, "spec", "runtimeEnvYAML"))
    manifest = build_cluster(
        live,
        effect.desired.name,
        effect.attempt,
        job_id=names.job_id,
        runtime_env=runtime_env,
        installation=world.mapper.of(Installation),
    )
    return _create(world, job, RAYCLUSTERS, manifest)


def _create_submitter(
    world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames
) -> Done:
    runtime_env, _ = parse_runtime_env(text(job.manifest, "spec", "runtimeEnvYAML"))
    name = names.cluster_of(job, effect.attempt)
    manifest = build_submitter(
        job.manifest,
        cluster=_shared(world, job, name) if names.selected else None,
        cluster_name=name,
        address=effect.desired.address,
        job_id=names.job_id,
        runtime_env=runtime_env,
        attempt=effect.attempt,
        installation=world.mapper.of(Installation),
    )
    return _create(world, job, BATCH_JOBS, manifest)


def _shared(world: World, job: CachedJob, name: str) -> Manifest:
    """Return the RayCluster that the job selected when the attempt began; no edit changes it."""
    found = world.live.child_named("RayCluster", job.identity.namespace, name)
    if found is None:
        raise ObjectNotFound(f"RayCluster {job.identity.namespace}/{name} is not there")
    return found.manifest


def _create(world: World, job: CachedJob, resource: Resource, manifest: Manifest) -> Done:
    sent = job.redactor.document(manifest)
    assert isinstance(sent, Mapping), "a redacted object is an object"
    try:
        made = world.cluster.create(resource, manifest)
    except ObjectExists:
        name = text(manifest, "metadata", "name")
        found = world.cluster.get(resource, job.identity.namespace, name)
        if found is None:
            raise  # it has just gone: later
        refuse_if_taken(resource, found, job)
        if text(found, "metadata", "deletionTimestamp"):
            raise  # it is on its way out: later
        if attempt_of(found) not in (0, attempt_of(manifest)):
            raise  # it was made late for an attempt that is over, and will be deleted
        if resource == BATCH_JOBS and attempt_of(found):  # one of KubeRay's is left as it is
            refuse_if_unlabelled(world, resource, found, job, (LABEL_CREATED_BY, CREATED_BY))
        return Done(uid=text(found, "metadata", "uid"), already=True, sent=sent)
    refuse_if_disowned(world, resource, made, job)
    if resource == BATCH_JOBS:
        refuse_if_unlabelled(world, resource, made, job, (LABEL_CREATED_BY, CREATED_BY))
    return Done(uid=text(made, "metadata", "uid"), sent=sent)


def _delete_cluster(world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames) -> Done:
    del names
    return delete_own(world, job, RAYCLUSTERS, effect.desired)


def _delete_submitter(
    world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames
) -> Done:
    del names
    return delete_own(world, job, BATCH_JOBS, effect.desired)


def _submit_entrypoint(
    world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames
) -> Done:
    del names
    runtime_env, _ = parse_runtime_env(text(job.manifest, "spec", "runtimeEnvYAML"))
    submission = build_submission(job.manifest, effect.desired.name, runtime_env)
    world.ray.submit(effect.desired.address, submission, _token(world, job, effect))
    sent: Json = job.redactor.document(
        {
            "entrypoint": submission.entrypoint,
            "submission_id": submission.submission_id,
            "metadata": dict(submission.metadata),
        }
    )
    return Done(sent=sent if isinstance(sent, dict) else {})


def _stop_entrypoint(world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames) -> Done:
    del names
    token = _token(world, job, effect)
    try:
        stopped = world.ray.stop(effect.desired.address, effect.desired.name, token)
    except RayJobNotFound:
        return Done(already=True)
    return Done(already=not stopped)


def _token(world: World, job: CachedJob, effect: OpenEffect) -> str:
    return read_token(world.cluster, world.live, job, effect.desired.address)


def _find_cluster(world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames) -> Done:
    del names
    namespace, name = job.identity.namespace, effect.desired.name
    found = world.cluster.get(RAYCLUSTERS, namespace, name)
    if found is None:
        raise ObjectNotFound(no_cluster(f"{namespace}/{name}"))
    return Done(uid=text(found, "metadata", "uid"), already=True)


def _put_pod_group(world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames) -> Done:
    """Let the PodGroup say who is to be placed together; in the end, what is left, or nobody."""
    identity, name = job.identity, effect.desired.name
    is_over = effect.desired.kind is EffectKind.CLEAR_POD_GROUP
    left = _left_of(world, job, names.cluster) if is_over and effect.desired.uid else None
    wanted = build_pod_group(job.manifest, is_over=is_over, left=left)
    found = world.cluster.get(VOLCANO_POD_GROUPS, identity.namespace, name)
    if found is None:
        if is_over:
            return Done(gone=True, already=True)
        made = world.cluster.create(VOLCANO_POD_GROUPS, wanted)
        return Done(uid=text(made, "metadata", "uid"))
    if is_over and not is_controlled_by(found, identity.uid):
        return Done(gone=True, already=True)
    refuse_if_taken(VOLCANO_POD_GROUPS, found, job)
    uid, spec = text(found, "metadata", "uid"), child(wanted, "spec")
    if all(child(found, "spec").get(key) == value for key, value in spec.items()):
        return Done(uid=uid, already=True)
    before = child(found, "spec", "minResources")
    resources = {**dict.fromkeys(before), **child(spec, "minResources")}
    patch: dict[str, Json] = {**exactly(found), "spec": {**spec, "minResources": resources}}
    world.cluster.merge_patch(VOLCANO_POD_GROUPS, identity.namespace, name, patch)
    return Done(uid=uid)


def _left_of(world: World, job: CachedJob, name: str) -> Manifest | None:
    """Return the job's RayCluster as it is now, None if it is gone, going, or somebody else's."""
    found = world.cluster.get(RAYCLUSTERS, job.identity.namespace, name)
    if found is None or not is_controlled_by(found, job.identity.uid):
        return None
    return None if text(found, "metadata", "deletionTimestamp") else found


def _suspend_workers(world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames) -> Done:
    del names
    namespace, name = job.identity.namespace, effect.desired.name
    found = world.cluster.get(RAYCLUSTERS, namespace, name)
    if found is None or not is_controlled_by(found, job.identity.uid):
        return Done(uid=effect.desired.uid, gone=True, already=True)
    uid = text(found, "metadata", "uid")
    groups = [child(group) for group in items(found, "spec", "workerGroupSpecs")]
    if all(group.get("suspend") is True for group in groups):
        return Done(uid=uid, already=True)
    suspended: Json = [{**group, "suspend": True} for group in groups]
    patch: dict[str, Json] = {**exactly(found), "spec": {"workerGroupSpecs": suspended}}
    world.cluster.merge_patch(RAYCLUSTERS, namespace, name, patch)
    return Done(uid=uid)


def _delete_job(world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames) -> Done:
    del effect, names
    identity = job.identity
    return delete_this(world, RAYJOBS, (identity.namespace, identity.name, identity.uid))


_Act = Callable[[World, CachedJob, OpenEffect, AttemptNames], Done]

_ACTS: Mapping[EffectKind, _Act] = {
    EffectKind.ADD_FINALIZER: _add_finalizer,
    EffectKind.REMOVE_FINALIZER: _remove_finalizer,
    EffectKind.CREATE_CLUSTER: _create_cluster,
    EffectKind.DELETE_CLUSTER: _delete_cluster,
    EffectKind.CREATE_SUBMITTER: _create_submitter,
    EffectKind.DELETE_SUBMITTER: _delete_submitter,
    EffectKind.SUBMIT_ENTRYPOINT: _submit_entrypoint,
    EffectKind.STOP_ENTRYPOINT: _stop_entrypoint,
    EffectKind.FIND_CLUSTER: _find_cluster,
    EffectKind.CREATE_SERVICE: put_service,
    EffectKind.UPDATE_SERVICE: put_service,
    EffectKind.APPLY_POD_GROUP: _put_pod_group,
    EffectKind.CLEAR_POD_GROUP: _put_pod_group,
    EffectKind.SUSPEND_WORKERS: _suspend_workers,
    EffectKind.DELETE_JOB: _delete_job,
}

_STOPPED = ("", Phase.SUSPENDED.value)
"""Other phases need no look at the object."""

UNSHOWN = (
    "the status does not show yet that the job runs, and a queue would take it for stopped: "
    "its RayCluster is made once it does"
)


def _unshown(job: CachedJob, effect: OpenEffect) -> str:
    """Return what a RayCluster waits for: a queue takes the job for stopped, by its status."""
    if effect.desired.kind is not EffectKind.CREATE_CLUSTER or job.phase not in _STOPPED:
        return ""
    return UNSHOWN if looks_stopped(job.phase, job.manifest) else ""


def _act(world: World, job: CachedJob, effect: OpenEffect, state: JobState) -> Done:
    assert isinstance(state, RayJobState), "a stream is one job, of one kind"
    if effect.desired.kind in CREATIONS and state.lost_children:
        wait_if_gone(world, job, RAYJOBS)
    return act(world, job, effect, names_of(state.attempt))


RAYJOB_ACTING = KindActing(act=_act, unshown=_unshown)
