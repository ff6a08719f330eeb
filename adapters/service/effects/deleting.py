"""Deletes an object of a job, by UID, and never one that is not the job's own."""

from jobledger.adapters.service.effects.context import Done, World
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.errors import ObjectChanged
from jobledger.core.jobs.control.ownership import is_controlled_by
from jobledger.core.jobs.pending.effects import DesiredEffect
from jobledger.core.ports.cluster import Propagation, Resource
from jobledger.core.values.documents import text


def delete_own(
    world: World,
    job: CachedJob,
    resource: Resource,
    wanted: DesiredEffect,
    propagation: Propagation = "Background",
) -> Done:
    """Delete the very object: never another of its name, nor one that the job does not own.

    Where the watch does not know it as the job's own, the cluster is asked first. An object that
    is somebody else's (the clusterSelector was taken out of a job that ran) counts as gone.
    """
    namespace, name, uid = job.identity.namespace, wanted.name, wanted.uid
    known = world.live.child(resource.kind, uid) if uid else None
    if known is None or known.owner_uid != job.identity.uid:
        found = world.cluster.get(resource, namespace, name)
        if found is None or not is_controlled_by(found, job.identity.uid):
            return Done(uid=uid, gone=True, already=True)
        there = text(found, "metadata", "uid")
        if uid not in ("", there):
            return Done(uid=uid, gone=True, already=True)
        uid = there
    return delete_this(world, resource, (namespace, name, uid), propagation)


def delete_this(
    world: World,
    resource: Resource,
    named: tuple[str, str, str],
    propagation: Propagation = "Background",
) -> Done:
    """Delete the object of this namespace, name and UID; one that is gone needs no deletion."""
    namespace, name, uid = named
    try:
        world.cluster.delete(resource, namespace, name, uid=uid, propagation=propagation)
    except ObjectChanged:
        # Taken for gone without a look, an object that some other conflict saved would be leaked.
        found = world.cluster.get(resource, namespace, name)
        if found is not None and text(found, "metadata", "uid") == uid:
            raise
        return Done(uid=uid, gone=True, already=True)
    return Done(uid=uid)
