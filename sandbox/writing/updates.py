"""How an object changes: replaced, patched, applied; the main part and the status each alone."""

from collections.abc import Callable
from typing import Final, TypeAlias

from jobledger.sandbox.admission.admission import admit, check_readable
from jobledger.sandbox.model.documents import Document, JsonValue, copy_of
from jobledger.sandbox.model.field_ownership import record_update
from jobledger.sandbox.model.kinds import Kind
from jobledger.sandbox.model.list_shapes import shape_of
from jobledger.sandbox.model.refusals import (
    STALE,
    bad_request,
    conflict,
    invalid,
    not_found,
    untouchable,
    wrong,
)
from jobledger.sandbox.model.storage import Storage, Version, shown_as
from jobledger.sandbox.model.targets import Target
from jobledger.sandbox.model.write_options import WriteOptions

Edit: TypeAlias = Callable[[Document], tuple[JsonValue, list[Document] | None]]
"""Takes a copy of the object in the request's version.

Returns the wanted object, and its managedFields if it was an apply (None: they follow from the
difference).
"""

_KEPT: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "resourceVersion",
)
"""Metadata that only the server sets."""

_UNTRACKED: Final = ("metadata", "status")


def update(storage: Storage, target: Target, edit: Edit, options: WriteOptions) -> Version:
    """Change an object by `edit` and store what comes out, if that differs.

    Raises:
        Refusal: 400, 404, 409 (another version or UID than the request names) or 422.
    """
    kind = target.kind
    with storage.lock:
        found = storage.get(kind.storage, (target.namespace, target.name))
        if found is None:
            raise not_found(kind, target.name)
        old = found.document
        wanted, managed = edit(copy_of(shown_as(kind, old)))
        new = check_readable(kind, wanted)
        _check_preconditions(target, new["metadata"], old["metadata"])
        new = _settled(kind, kind.to_storage(new), old, target.subresource)
        admit(kind, new, old, options)
        _check_finalizers(kind, new["metadata"], old["metadata"])
        if managed is None:
            managed = record_update(old, new, shape_of(kind), options.writer, storage.now())
        new["metadata"].pop("managedFields", None)
        if managed:
            new["metadata"]["managedFields"] = managed
        if _raises_generation(kind, new, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if new == old:
            return found
        return Version(new, 0) if options.dry_run else commit(storage, kind, new)


def commit(storage: Storage, kind: Kind, new: Document) -> Version:
    """Store a changed object; if it only waited for its last finalizer, remove it."""
    version = storage.put(kind.storage, new)
    metadata = new["metadata"]
    waiting = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    is_namespace = kind.plural == "namespaces" and not kind.group
    if metadata.get("deletionTimestamp") and not waiting and not is_namespace:
        storage.remove(kind.storage, (metadata.get("namespace", ""), metadata["name"]))
    return version


def replacement(target: Target, body: JsonValue) -> Edit:
    """Return the edit that puts `body` in the object's place."""

    def edit(live: Document) -> tuple[JsonValue, list[Document] | None]:
        new = check_readable(target.kind, body)
        uid, found = new["metadata"].get("uid"), live["metadata"]["uid"]
        if uid and uid != found:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {found}"
            raise conflict(target.kind, target.name, why)
        name = new["metadata"].get("name", "")
        if name != target.name:
            raise bad_request(
                f"the name of the object ({name}) does not match the name on the URL "
                f"({target.name})"
            )
        if not target.kind.unconditional_update and not new["metadata"].get("resourceVersion"):
            rule = "must be specified for an update"
            error = wrong("metadata.resourceVersion", 0, rule)
            raise invalid(target.kind, name, [error])
        return new, None

    return edit


def _check_preconditions(target: Target, new: Document, old: Document) -> None:
    """See that the request speaks of the object as it is."""
    kind, name = target.kind, target.name
    if new.get("name", name) != name:
        raise bad_request(
            f"the name of the object ({new['name']}) does not match the name on the URL ({name})"
        )
    if kind.namespaced and new.get("namespace", target.namespace) != target.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    uid = new.get("uid")
    unread = kind.custom and target.subresource == "status"  # all metadata but resourceVersion is
    if uid and uid != old["uid"] and not unread:
        # only a PUT makes a precondition of it (see `replacement`); a patch would change it
        raise invalid(kind, name, [wrong("metadata.uid", uid, "field is immutable")])
    revision = new.get("resourceVersion")
    if revision and revision != old["resourceVersion"]:
        raise conflict(kind, name, STALE)


def _settled(kind: Kind, new: Document, old: Document, subresource: str) -> Document:
    """Return the wanted object with what this request may not touch as it was."""
    metadata = new["metadata"]
    if subresource == "status":
        kept = dict(old["metadata"])
        if not kind.custom:
            kept |= {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
        settled = old | {"metadata": kept}
        settled.pop("status", None)
        if new.get("status") is not None:
            settled["status"] = new["status"]
        return {key: copy_of(value) for key, value in settled.items()}
    for key in _KEPT:
        metadata.pop(key, None)
        if key in old["metadata"]:
            metadata[key] = old["metadata"][key]
    if kind.has_status:
        new.pop("status", None)
        if "status" in old:
            new["status"] = copy_of(old["status"])
    return new


def _raises_generation(kind: Kind, new: Document, old: Document) -> bool:
    """Return whether anything but metadata (and a status of its own) differs."""
    if not kind.has_generation:
        return False
    skipped = _UNTRACKED if kind.has_status else _UNTRACKED[:1]
    fields = (new.keys() | old.keys()) - set(skipped)
    return any(new.get(field) != old.get(field) for field in fields)


def _check_finalizers(kind: Kind, new: Document, old: Document) -> None:
    """See that an object on its way out gets no new finalizer."""
    added = [f for f in new.get("finalizers") or () if f not in (old.get("finalizers") or ())]
    if old.get("deletionTimestamp") and added:
        listed = ", ".join(f'"{finalizer}"' for finalizer in added)
        rule = (
            "no new finalizers can be added if the object is being deleted, found new finalizers "
            f"[]string{{{listed}}}"
        )
        raise invalid(kind, new["name"], [untouchable("metadata.finalizers", rule)])
