"""The Service of a job's head: created once, switched to the RayCluster of each attempt."""

from contextlib import suppress

from jobledger.adapters.kinds.rayjob.acting.attempt_names import AttemptNames
from jobledger.adapters.service.effects.context import (
    SERVICES_MAX,
    Done,
    World,
    exactly,
    refuse_if_taken,
)
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.errors import ObjectChanged, ObjectExists, ObjectNotFound, RequestInvalid
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect
from jobledger.core.ports.cluster import SERVICES
from jobledger.core.rayjob.manifests.head_service import build_head_service, leads_to
from jobledger.core.rayjob.names import LEADS_TO, cluster_name
from jobledger.core.rayjob.spec.installation import Installation
from jobledger.core.values.documents import Json, Manifest, child, text


def put_service(world: World, job: CachedJob, effect: OpenEffect, names: AttemptNames) -> Done:
    """Create the Service of the job's head, or let it lead to the attempt's RayCluster.

    One that is to be led on and is gone is not made, and one that leads elsewhere than to an
    earlier attempt's RayCluster is not led on: whoever holds the job now may have led it there, or
    another controller. That is only told, and what follows is another effect, told as what it is:
    who asks for it has to hold the lease, and then leads on just what was seen.
    """
    identity, name = job.identity, effect.desired.name
    target = names.cluster_of(job, effect.attempt)
    wanted = build_head_service(job.manifest, target, world.mapper.of(Installation))
    sent: Manifest = {LEADS_TO: target}
    if known := world.services.pop(identity.uid, None):
        with suppress(ObjectChanged, ObjectNotFound, RequestInvalid):  # it is not what it was
            return _led(world, job, _lead(world, identity.namespace, name, known, wanted), sent)
    is_update = effect.desired.kind is EffectKind.UPDATE_SERVICE
    found = world.cluster.get(SERVICES, identity.namespace, name) if is_update else None
    if found is None and is_update:
        return Done(gone=True, already=True)
    if found is None:
        try:
            return _led(world, job, world.cluster.create(SERVICES, wanted), sent)
        except ObjectExists:
            found = world.cluster.get(SERVICES, identity.namespace, name)
            if found is None:
                raise
    refuse_if_taken(SERVICES, found, job)
    leads_there = leads_to(found)
    if leads_there == target:
        return Done(uid=text(found, "metadata", "uid"), already=True)
    if leads_there not in _earlier(job, effect.attempt):
        _remember(world, job, found)
        uid = text(found, "metadata", "uid")
        return Done(uid=uid, already=True, sent={LEADS_TO: leads_there})
    led = _lead(world, identity.namespace, name, exactly(found), wanted)
    return _led(world, job, led, sent)


def _earlier(job: CachedJob, attempt: int) -> set[str]:
    """Return the names of the RayClusters of the attempts before."""
    identity = job.identity
    return {cluster_name(identity.name, identity.uid, number) for number in range(1, attempt)}


def _lead(
    world: World, namespace: str, name: str, known: dict[str, Json], wanted: Manifest
) -> Manifest:
    """Let this very version of a Service lead where it is wanted to lead."""
    patch = {**known, "spec": _leading(wanted)}
    return world.cluster.merge_patch(SERVICES, namespace, name, patch)


def _led(world: World, job: CachedJob, service: Manifest, sent: Manifest) -> Done:
    """Remember a Service that leads where it is to lead."""
    _remember(world, job, service)
    return Done(uid=text(service, "metadata", "uid"), sent=sent)


def _remember(world: World, job: CachedJob, service: Manifest) -> None:
    if len(world.services) >= SERVICES_MAX:
        world.services.clear()
    world.services[job.identity.uid] = exactly(service)


def _leading(service: Manifest) -> Json:
    """Return what of a Service may change: its address is its own."""
    spec = child(service, "spec")
    return {key: spec[key] for key in ("selector", "ports", "type") if key in spec}
