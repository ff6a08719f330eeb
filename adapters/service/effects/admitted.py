"""Refuses what the API server has taken in otherwise than it was sent, as its answer shows.

Admission webhooks and policies change what is sent, and nobody tells of it: an object that no job
controls is shown to none, and a change that was undone before it was stored is none to a watch.
Taken for done, such an effect would leave its job waiting for ever.
"""

from jobledger.adapters.service.effects.context import SomebodyElses, World
from jobledger.adapters.service.effects.deleting import delete_this
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.errors import ClusterError, RequestForbidden
from jobledger.core.jobs.control.ownership import is_controlled_by
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest, child, text


def refuse_if_disowned(world: World, resource: Resource, made: Manifest, job: CachedJob) -> None:
    """Raise for an object that was made just now and is not the job's own; delete it again.

    No garbage collector would take it away, nor would the job ever find it. One that cannot be
    deleted is in the way of the next try, which says so.

    Raises:
        SomebodyElses: somebody has to change what takes the owner away.
    """
    if not is_controlled_by(made, job.identity.uid):
        lost = f"without its owner, this {job.kind},", "metadata.ownerReferences"
        _refuse(world, resource, made, job, lost)


def refuse_if_unlabelled(
    world: World, resource: Resource, made: Manifest, job: CachedJob, label: tuple[str, str]
) -> None:
    """Raise for an object that was made here without the label that its watch selects by.

    It is deleted again: nobody would ever be told how it fares. Policies set labels such as
    `app.kubernetes.io/created-by` to what they think right.

    Raises:
        SomebodyElses: somebody has to change what takes the label away.
    """
    name, value = label
    if child(made, "metadata", "labels").get(name) != value:
        lost = f"without its label {name}={value}", "metadata.labels"
        _refuse(world, resource, made, job, lost)


def _refuse(
    world: World, resource: Resource, made: Manifest, job: CachedJob, lost: tuple[str, str]
) -> None:
    """Delete an object that was made here; raise with what it `lost`, and in which field."""
    how, field = lost
    namespace, name = job.identity.namespace, text(made, "metadata", "name")
    became = "was deleted again"
    try:
        delete_this(world, resource, (namespace, name, text(made, "metadata", "uid")))
    except ClusterError as error:
        became = f"could not be deleted ({error})"
    raise SomebodyElses(
        f"{resource.kind} {namespace}/{name} was made {how} and {became}: an admission webhook or "
        f"policy of the API server changes {field}. Have it leave them as they are"
    )


def refuse_if_not_suspended_as_asked(changed: Manifest, *, suspend: bool) -> None:
    """Raise for an object that is not suspended, or resumed, though the API server took it so.

    Raises:
        RequestForbidden: somebody has to change what sets it otherwise.
    """
    if (child(changed, "spec").get("suspend") is True) is suspend:
        return
    raise RequestForbidden(
        f"spec.suspend stays {str(not suspend).lower()}: an admission webhook or policy of the API "
        "server sets it so whenever it is changed"
    )
