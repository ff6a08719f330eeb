"""How each effect is done outside, idempotently, from the live specification.

An act returns what it found or brought about; it raises the errors of the ports, which
`carrying_out` judges.
Names are derived, so an object that is already there is ours if it carries the job's UID, and
somebody else's if not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from adapters.service.live import LiveJob, LiveObjects
from adapters.service.runtime_env import parse_runtime_env
from adapters.service.sightings import Door
from core.errors import ObjectChanged, ObjectExists, ObjectNotFound, RayJobNotFound
from core.jobs.effects import BUILT_FROM_SPEC, EffectKind, OpenEffect
from core.log.redaction import digest
from core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS, Cluster, Resource
from core.ports.ray_jobs import RayJobs
from core.rayjob.children import owner_uid
from core.rayjob.manifests import build_cluster, build_submitter
from core.rayjob.names import FINALIZER
from core.rayjob.submission import build_submission
from core.values.documents import Json, Manifest, child, items, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What an act found or brought about."""

    uid: str = ""
    gone: bool = False
    already: bool = False
    sent: Manifest = field(default_factory=dict)


class SupersededEffect(Exception):
    """What the effect was decided on is no longer so; nothing was sent."""


class SomebodyElses(Exception):
    """An object of that name is there and does not belong to the job."""


@dataclass(frozen=True, slots=True)
class World:
    """What acting needs."""

    cluster: Cluster
    ray: RayJobs
    live: LiveObjects
    door: Door


def act(world: World, job: LiveJob, effect: OpenEffect, ray_job_id: str) -> Done:
    """Do it. `ray_job_id` is the submission id of the current attempt.

    Raises:
        SupersededEffect: the live specification is not the one it was decided on.
        SomebodyElses: the name is taken.
        ClusterError, RayApiError: as the ports do.
    """
    if effect.wanted.kind in BUILT_FROM_SPEC:
        now = digest(world.door.redaction_key, child(job.manifest, "spec"))
        if now != effect.digest:
            raise SupersededEffect("the specification has changed since")
    return _ACTS[effect.wanted.kind](world, job, effect, ray_job_id)


def _add_finalizer(world: World, job: LiveJob, effect: OpenEffect, ray_job_id: str) -> Done:
    del effect, ray_job_id
    present = [str(item) for item in items(job.manifest, "metadata", "finalizers")]
    if FINALIZER in present:
        return Done(already=True)
    return _set_finalizers(world, job, [*present, FINALIZER])


def _remove_finalizer(world: World, job: LiveJob, effect: OpenEffect, ray_job_id: str) -> Done:
    del effect, ray_job_id
    present = [str(item) for item in items(job.manifest, "metadata", "finalizers")]
    if FINALIZER not in present and not _has_finalizer(world, job):
        return Done(already=True)
    try:
        return _set_finalizers(world, job, [item for item in present if item != FINALIZER])
    except ObjectNotFound:
        return Done(already=True, gone=True)


def _has_finalizer(world: World, job: LiveJob) -> bool:
    """Ask the API server: what a lagging watch shows may be older than the finalizer."""
    identity = job.identity
    fresh = world.cluster.get(RAYJOBS, identity.namespace, identity.name)
    is_ours = fresh is not None and text(fresh, "metadata", "uid") == identity.uid
    return is_ours and FINALIZER in items(fresh, "metadata", "finalizers")


def _set_finalizers(world: World, job: LiveJob, finalizers: list[str]) -> Done:
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
        world.cluster.merge_patch(RAYJOBS, identity.namespace, identity.name, patch)
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
    return Done()


def _create_cluster(world: World, job: LiveJob, effect: OpenEffect, ray_job_id: str) -> Done:
    live = job.manifest
    runtime_env, _ = parse_runtime_env(text(live, "spec", "runtimeEnvYAML"))
    manifest = build_cluster(
        live,
        effect.wanted.name,
        effect.attempt,
        job_id=ray_job_id,
        runtime_env=runtime_env or None,
    )
    return _create(world, job, RAYCLUSTERS, manifest)


def _create_submitter(world: World, job: LiveJob, effect: OpenEffect, ray_job_id: str) -> Done:
    runtime_env, _ = parse_runtime_env(text(job.manifest, "spec", "runtimeEnvYAML"))
    selected = world.live.child_named("RayCluster", job.identity.namespace, job.selected)
    manifest = build_submitter(
        job.manifest,
        cluster=selected.manifest if job.selected and selected is not None else None,
        address=effect.wanted.address,
        job_id=ray_job_id,
        runtime_env=runtime_env or None,
        attempt=effect.attempt,
    )
    return _create(world, job, BATCH_JOBS, manifest)


def _create(world: World, job: LiveJob, resource: Resource, manifest: Manifest) -> Done:
    sent = job.redactor.document(manifest)
    assert isinstance(sent, Mapping), "a redacted object is an object"
    try:
        made = world.cluster.create(resource, manifest)
    except ObjectExists:
        name = text(manifest, "metadata", "name")
        found = world.cluster.get(resource, job.identity.namespace, name)
        if found is None or text(found, "metadata", "deletionTimestamp"):
            raise  # it is on its way out: later
        if owner_uid(found) != job.identity.uid:
            message = f"{resource.kind} {name} is there and does not belong to this RayJob"
            raise SomebodyElses(message) from None
        return Done(uid=text(found, "metadata", "uid"), already=True, sent=sent)
    return Done(uid=text(made, "metadata", "uid"), sent=sent)


def _delete_cluster(world: World, job: LiveJob, effect: OpenEffect, ray_job_id: str) -> Done:
    del ray_job_id
    return _delete(world, job, RAYCLUSTERS, effect)


def _delete_submitter(world: World, job: LiveJob, effect: OpenEffect, ray_job_id: str) -> Done:
    del ray_job_id
    return _delete(world, job, BATCH_JOBS, effect)


def _delete(world: World, job: LiveJob, resource: Resource, effect: OpenEffect) -> Done:
    """Delete the very object, never another of its name; where its UID is not known, look first."""
    namespace, name, uid = job.identity.namespace, effect.wanted.name, effect.wanted.uid
    if not uid:
        found = world.cluster.get(resource, namespace, name)
        if found is None or owner_uid(found) != job.identity.uid:
            return Done(gone=True, already=True)
        uid = text(found, "metadata", "uid")
    elif not world.live.has_child(resource.kind, uid):
        found = world.cluster.get(resource, namespace, name)
        if found is None or text(found, "metadata", "uid") != uid:
            return Done(uid=uid, gone=True, already=True)
    try:
        world.cluster.delete(resource, namespace, name, uid=uid)
    except ObjectChanged:
        # Taken for gone without a look, an object that some other conflict saved would be leaked.
        found = world.cluster.get(resource, namespace, name)
        if found is not None and text(found, "metadata", "uid") == uid:
            raise
        return Done(uid=uid, gone=True, already=True)
    return Done(uid=uid)


def _submit_entrypoint(world: World, job: LiveJob, effect: OpenEffect, ray_job_id: str) -> Done:
    del ray_job_id
    runtime_env, _ = parse_runtime_env(text(job.manifest, "spec", "runtimeEnvYAML"))
    submission = build_submission(job.manifest, effect.wanted.name, runtime_env)
    world.ray.submit(effect.wanted.address, submission)
    sent: Json = job.redactor.document(
        {
            "entrypoint": submission.entrypoint,
            "submission_id": submission.submission_id,
            "metadata": dict(submission.metadata),
        }
    )
    return Done(sent=sent if isinstance(sent, dict) else {})


def _stop_entrypoint(world: World, job: LiveJob, effect: OpenEffect, ray_job_id: str) -> Done:
    del job, ray_job_id
    try:
        stopped = world.ray.stop(effect.wanted.address, effect.wanted.name)
    except RayJobNotFound:
        return Done(already=True)
    return Done(already=not stopped)


_Act = Callable[[World, LiveJob, OpenEffect, str], Done]

_ACTS: Mapping[EffectKind, _Act] = {
    EffectKind.ADD_FINALIZER: _add_finalizer,
    EffectKind.REMOVE_FINALIZER: _remove_finalizer,
    EffectKind.CREATE_CLUSTER: _create_cluster,
    EffectKind.DELETE_CLUSTER: _delete_cluster,
    EffectKind.CREATE_SUBMITTER: _create_submitter,
    EffectKind.DELETE_SUBMITTER: _delete_submitter,
    EffectKind.SUBMIT_ENTRYPOINT: _submit_entrypoint,
    EffectKind.STOP_ENTRYPOINT: _stop_entrypoint,
}
