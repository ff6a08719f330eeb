"""How an object comes into being."""

import uuid
from typing import Final

from jobledger.sandbox.admission.admission import admit, check_readable
from jobledger.sandbox.admission.builtin_kinds import NAMESPACES
from jobledger.sandbox.model.documents import Document, JsonValue, at
from jobledger.sandbox.model.field_ownership import record_update
from jobledger.sandbox.model.list_shapes import shape_of
from jobledger.sandbox.model.names import check_name, generated
from jobledger.sandbox.model.refusals import (
    bad_request,
    exists,
    failed,
    forbidden,
    invalid,
    not_found,
)
from jobledger.sandbox.model.storage import Storage, Version
from jobledger.sandbox.model.targets import Target
from jobledger.sandbox.model.write_options import WriteOptions

_TRIES_FOR_A_NAME: Final = 8


def create(storage: Storage, target: Target, body: JsonValue, options: WriteOptions) -> Version:
    """Create an object in the collection `target` means.

    Raises:
        Refusal: 400, 403, 404 (its namespace), 409 (its name is taken) or 422.
    """
    document = check_readable(target.kind, body)
    return insert(storage, target, document, options, None)


def insert(
    storage: Storage,
    target: Target,
    document: Document,
    options: WriteOptions,
    managed: list[Document] | None,
) -> Version:
    """Store a readable new object; `managed` are its managedFields if an apply made it."""
    kind = target.kind
    with storage.lock:
        metadata = document["metadata"]
        _place(storage, target, metadata)
        if kind.has_status and kind.custom:
            document.pop("status", None)
        for field in ("resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"):
            if metadata.pop(field, None) and field == "resourceVersion":
                raise failed("resourceVersion should not be set on objects to be created")
        metadata.pop("managedFields", None)
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": storage.now()}
        metadata.pop("generation", None)
        if kind.has_generation:
            metadata["generation"] = 1
        stored = kind.to_storage(document)
        if kind.custom:
            admit(kind, document, None, options)
            stored = kind.to_storage(document)
        else:
            admit(kind, stored, None, options)
        entries = record_update(None, stored, shape_of(kind), options.writer, storage.now())
        metadata["managedFields"] = entries if managed is None else managed
        return Version(stored, 0) if options.dry_run else storage.put(kind.storage, stored)


def _place(storage: Storage, target: Target, metadata: Document) -> None:
    """Give a new object its namespace and name, and see that both may be had."""
    kind = target.kind
    if kind.namespaced:
        if metadata.setdefault("namespace", target.namespace) != target.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the "
                "request"
            )
    else:
        metadata.pop("namespace", None)
    prefix = metadata.get("generateName", "")
    chosen = metadata.get("name") or (generated(prefix) if prefix else "")
    errors = check_name(kind, chosen)
    if errors:
        raise invalid(kind, chosen, errors)
    if kind.namespaced:
        _check_namespace(storage, target, chosen)
    for _ in range(_TRIES_FOR_A_NAME):
        if storage.get(kind.storage, (target.namespace, chosen)) is None:
            metadata["name"] = chosen
            return
        if metadata.get("name"):
            break
        chosen = generated(prefix)
    raise exists(kind, chosen)


def _check_namespace(storage: Storage, target: Target, name: str) -> None:
    space = storage.get(NAMESPACES.storage, ("", target.namespace))
    if space is None:
        raise not_found(NAMESPACES, target.namespace)
    if at(space.document, "metadata", "deletionTimestamp"):
        why = (
            f"unable to create new content in namespace {target.namespace} because it is being "
            "terminated"
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {target.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise forbidden(target.kind, name, why, [cause])
