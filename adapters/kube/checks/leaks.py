"""Finds objects that outlived their jobs, and jobs with too many objects. Only lists."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from jobledger.core.errors import ObjectNotFound, RequestForbidden
from jobledger.core.forensics.findings import Check, Finding, error, warning
from jobledger.core.kinds import KINDS
from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, Cluster, Resource
from jobledger.core.values.documents import Manifest, child, items, text

SECOND_LOOK_SECONDS = 3.0
"""Garbage is collected within a second or two; what is still there then is none that goes."""

_MADE = tuple(dict.fromkeys(made for kind in KINDS.values() for made in kind.api.made))
_OWNERS = {kind.name: kind.resource for kind in KINDS.values()}
_LABELS = tuple(
    (kind.name, *kind.api.origin_labels) for kind in KINDS.values() if kind.api.origin_labels
)

_OF_JOBS = "start the service, which deletes what is left of jobs; or delete it by hand"
_NOBODYS = "nobody owns it, so nobody deletes it: delete it by hand if it is not needed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """Where objects are looked for, and what the ledger says of their jobs."""

    cluster: Cluster
    namespaces: Collection[str] = ()
    """Empty: all."""
    over: Callable[[], Mapping[str, str]] = dict
    """Gives the UIDs of jobs that are over and had their objects deleted, with their names."""
    pause: Callable[[float], object] = lambda _: None
    """Waits so many seconds before the second look."""


def leaked(view: Objects) -> Iterator[Finding]:
    """Yield what belongs to jobs that are gone, or are over and had it deleted."""
    suspects = _suspects(view)
    if not suspects:
        return
    view.pause(SECOND_LOOK_SECONDS)
    still = _suspects(view)
    for uid, (what, remedy) in still.items():
        if uid in suspects:
            yield warning("leaked-objects", what, remedy)


def _suspects(view: Objects) -> dict[str, tuple[str, str]]:
    """Return the UIDs of what should not be there, with what is wrong of each and what to do."""
    # First what was made, then who owns it: an owner that comes between is no leak.
    made = [(resource, _metadata(item)) for resource in _MADE for item in _listed(view, resource)]
    there: set[str] = set()
    names: set[tuple[str, str, str]] = set()
    for kind, resource in _OWNERS.items():
        for job in _listed(view, resource):
            there.add(_uid(job))
            names.add((kind, *_place(job)))
    over = view.over()
    found: dict[str, tuple[str, str]] = {}
    for resource, item in made:
        if text(item, "metadata", "deletionTimestamp"):
            continue
        called = f"{resource.kind} {'/'.join(_place(item))}"
        owner = _owner(item)
        if owner is not None and owner[1] not in there:
            what = f"{called} belongs to {owner[0]} {owner[2]}, which is gone"
            found[_uid(item)] = what, _OF_JOBS
        elif owner is not None and owner[1] in over and resource is not BATCH_JOBS:
            found[_uid(item)] = f"{called} is there, and {over[owner[1]]} is over", _OF_JOBS
        elif owner is None and (labelled := _labelled(item)) is not None:
            # A job of that name may be another one, made since, or have lost what it owned.
            why = "which does not own it" if labelled in names else "which is gone"
            found[_uid(item)] = f"{called} is labelled for {labelled[2]}, {why}", _NOBODYS
    return found


def one_live_cluster(view: Objects) -> Iterator[Finding]:
    """Yield jobs that have several live RayClusters."""
    owners = [
        owner
        for item in _listed(view, RAYCLUSTERS)
        if not text(item, "metadata", "deletionTimestamp") and (owner := _owner(item)) is not None
    ]
    for (kind, _, name), count in Counter(owners).items():
        if count > 1:
            what = f"{kind} {name} has {count} live RayClusters"
            remedy = "look which of them its status names; the service deletes the others"
            yield error("one-live-cluster", what, remedy)


def _listed(view: Objects, resource: Resource) -> Iterator[Manifest]:
    return each_in(view.cluster, view.namespaces, resource)


def each_in(
    cluster: Cluster, namespaces: Collection[str], resource: Resource
) -> Iterator[Manifest]:
    """Yield all objects of some namespaces (none named: of all); none where that is refused."""
    for namespace in tuple(namespaces) or ("",):
        try:
            yield from cluster.each(resource, namespace)
        except (ObjectNotFound, RequestForbidden):  # other checks say so
            return


def _metadata(item: Manifest) -> Manifest:
    """Return an object without all that is not asked here: there may be many of them."""
    return {"metadata": child(item, "metadata")}


def _owner(item: Manifest) -> tuple[str, str, str] | None:
    """Return kind, UID and name of the job that owns an object, None if none does."""
    for reference in items(item, "metadata", "ownerReferences"):
        kind = text(reference, "kind")
        if kind in _OWNERS and text(reference, "apiVersion").startswith(_OWNERS[kind].group):
            return kind, text(reference, "uid"), text(reference, "name")
    return None


def _labelled(item: Manifest) -> tuple[str, str, str] | None:
    """Return kind, namespace and name of the job that an object is labelled for."""
    labels = child(item, "metadata", "labels")
    for only, of_kind, of_name in _LABELS:
        kind, name = text(labels, of_kind) if of_kind else only, text(labels, of_name)
        if kind in _OWNERS and name:
            return kind, text(item, "metadata", "namespace"), name
    return None


def _place(item: Manifest) -> tuple[str, str]:
    return text(item, "metadata", "namespace"), text(item, "metadata", "name")


def _uid(item: Manifest) -> str:
    return text(item, "metadata", "uid")


CHECKS: tuple[Check[Objects], ...] = (
    Check(
        name="leaked-objects",
        asks="Has every RayCluster, submitter and JobSet a job that is there and at work?",
        run=leaked,
    ),
    Check(
        name="one-live-cluster",
        asks="Has every job at most one live RayCluster?",
        run=one_live_cluster,
    ),
)
