"""The Service of a job's head: made once, led on to the RayCluster of every further attempt."""

from contextlib import suppress

from adapters.service.acting import SERVICES_MAX, Done, SomebodyElses, World, exactly
from adapters.service.live import LiveJob
from core.errors import ObjectChanged, ObjectExists, ObjectNotFound, RequestInvalid
from core.jobs.effects import EffectKind, OpenEffect
from core.ports.cluster import SERVICES
from core.rayjob.children import owner_uid
from core.rayjob.head_service import build_head_service, leads_to
from core.rayjob.names import cluster_name
from core.values.documents import Json, Manifest, child, text


def put_service(world: World, job: LiveJob, effect: OpenEffect, ray_job_id: str) -> Done:
    """Create the Service of the job's head, or let it lead to the attempt's RayCluster."""
    del ray_job_id
    identity, name = job.identity, effect.wanted.name
    derived = cluster_name(identity.name, identity.uid, effect.attempt)
    adopted = text(job.manifest, "status", "rayClusterName")
    is_derived = world.live.child_named("RayCluster", identity.namespace, derived) is not None
    target = derived if is_derived else adopted or derived
    wanted = build_head_service(job.manifest, target, world.door.installation)
    sent: Manifest = {"leads to": target}
    if _is_update(effect) and (known := world.services.pop(identity.uid, "")):
        patch: dict[str, Json] = {"metadata": {"uid": known}, "spec": _leading(wanted)}
        with suppress(ObjectChanged, ObjectNotFound, RequestInvalid):  # it is not what it was
            world.cluster.merge_patch(SERVICES, identity.namespace, name, patch)
            return _led(world, job, known, sent)
    found = world.cluster.get(SERVICES, identity.namespace, name) if _is_update(effect) else None
    if found is None:
        try:
            made = world.cluster.create(SERVICES, wanted)
        except ObjectExists:
            found = world.cluster.get(SERVICES, identity.namespace, name)
            if found is None:
                raise
        else:
            return _led(world, job, text(made, "metadata", "uid"), sent)
    if owner_uid(found) != identity.uid:
        raise SomebodyElses(f"Service {name} is there and does not belong to this RayJob")
    uid = text(found, "metadata", "uid")
    if leads_to(found) == target:
        return Done(uid=uid, already=True)
    world.cluster.merge_patch(
        SERVICES, identity.namespace, name, {**exactly(found), "spec": _leading(wanted)}
    )
    return _led(world, job, uid, sent)


def _led(world: World, job: LiveJob, uid: str, sent: Manifest) -> Done:
    """Remember a Service that leads where it is to lead."""
    if len(world.services) >= SERVICES_MAX:
        world.services.clear()
    world.services[job.identity.uid] = uid
    return Done(uid=uid, sent=sent)


def _is_update(effect: OpenEffect) -> bool:
    return effect.wanted.kind is EffectKind.UPDATE_SERVICE


def _leading(service: Manifest) -> Json:
    """Return what of a Service may change: its address is its own."""
    spec = child(service, "spec")
    return {key: spec[key] for key in ("selector", "ports", "type") if key in spec}
