"""Decides whether an object belongs to a job, and words the refusal when it does not.

The one rule: an object is a job's own only if its controller, the owner reference with
`controller: true`, has the job's UID; what such an object controls belongs to the job as well.
Everything else is somebody else's, whatever its name, its labels and its other owner references
say: anybody who may write an object may write those. It is never adopted, changed, deleted,
captured as evidence or quoted.

Source: Kubernetes, metav1.IsControlledBy; an API server takes one controller per object at most.
"""

import re
from dataclasses import dataclass, replace

from jobledger.core.values.documents import Json, Manifest, child, items, text

MAKERS = frozenset({"jobledger", "trainer", "kuberay-operator", "trainer-controller-manager"})
"""Field managers of those who make objects for jobs: this controller's own, and upstream's."""

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """The object that controls another, as an owner reference names it."""

    group: str
    version: str
    kind: str
    name: str
    uid: str


def controller_of(manifest: Manifest) -> Controller | None:
    """Return the controller of an object; None if it has none, or more than one."""
    found = [
        Controller(
            group=text(owner, "apiVersion").rpartition("/")[0],
            version=text(owner, "apiVersion").rpartition("/")[2],
            kind=text(owner, "kind"),
            name=text(owner, "name"),
            uid=text(owner, "uid"),
        )
        for owner in items(manifest, "metadata", "ownerReferences")
        if child(owner).get("controller") is True
    ]
    return found[0] if len(found) == 1 and found[0].uid else None


def controller_uid(manifest: Manifest, group: str, kind: str) -> str:
    """Return the UID of an object's controller; empty if it has none of this kind."""
    found = controller_of(manifest)
    is_of_kind = found is not None and (found.group, found.kind) == (group, kind)
    return found.uid if found is not None and is_of_kind else ""


def is_controlled_by(manifest: Manifest, uid: str) -> bool:
    """Return whether an object is the own one of whatever has this UID."""
    found = controller_of(manifest)
    return uid != "" and found is not None and found.uid == uid


def controller_reference(api_version: str, kind: str, job: Manifest) -> Manifest:
    """Return the owner reference that makes a job the controller of an object."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": text(job, "metadata", "name"),
        "uid": text(job, "metadata", "uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_left_behind(manifest: Manifest, job: Controller) -> bool:
    """Return whether an object is that of an earlier job of the same name, and so garbage.

    Of that name there is one job at a time, so the other is gone: its objects follow in moments.
    Of an owner in a version that is not served the garbage collector deletes nothing.
    """
    found = controller_of(manifest)
    return found is not None and found != job and replace(found, uid=job.uid) == job


def in_the_way(kind: str, manifest: Manifest, job_kind: str, *, is_garbage: bool = False) -> str:
    """Return whose name keeps a job from having an object of that name, and what to do.

    Nothing of the object is quoted but its name and that of its controller.
    """
    namespace, name = text(manifest, "metadata", "namespace"), text(manifest, "metadata", "name")
    whose = _owner_words(manifest, job_kind)
    if is_garbage:
        return (
            f"{kind} {namespace}/{name} is in the way: {whose}, which is gone. The garbage "
            f"collector deletes it; this {job_kind} goes on then"
        )
    if text(manifest, "metadata", "deletionTimestamp"):
        return (
            f"{kind} {namespace}/{name} is in the way: {whose}. It is being deleted; this "
            f"{job_kind} goes on once it is gone"
        )
    return (
        f"{kind} {namespace}/{name} is in the way: {whose}. Delete it if nobody needs it "
        f"(kubectl delete {kind.lower()} {name} -n {namespace}), or give this {job_kind} another "
        f"name; this {job_kind} goes on by itself once the name is free"
    )


def _owner_words(manifest: Manifest, job_kind: str) -> str:
    found = controller_of(manifest)
    if found is not None:
        earlier = "another " if found.kind == job_kind else ""
        return f"it belongs to {earlier}{_word(found.kind)} {_word(found.name)}"
    if any(_is_of_a_maker(entry) for entry in items(manifest, "metadata", "managedFields")):
        return "nobody owns it, a job left it behind, as --cascade=orphan does"
    return "nobody owns it"


def _is_of_a_maker(entry: Json) -> bool:
    """Return whether an entry is that of a maker's write; controllers write statuses of anybody."""
    return text(entry, "manager") in MAKERS and not text(entry, "subresource")


def _word(given: str) -> str:
    """Return a word that an owner reference holds: nothing checks it but its length."""
    return given if _NAME.fullmatch(given) else "(unreadable)"
