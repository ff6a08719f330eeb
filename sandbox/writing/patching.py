"""Which edit a PATCH request means, by its content type; and what an apply creates."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from jobledger.sandbox.admission.admission import check_readable
from jobledger.sandbox.model.documents import Document, JsonValue
from jobledger.sandbox.model.field_ownership import leaves
from jobledger.sandbox.model.list_shapes import shape_of
from jobledger.sandbox.model.refusals import (
    Refusal,
    bad_request,
    conflict,
    not_found,
    required,
    unsupported_media_type,
)
from jobledger.sandbox.model.storage import Storage, Version
from jobledger.sandbox.model.targets import Target
from jobledger.sandbox.model.write_options import WriteOptions
from jobledger.sandbox.patching.patches import (
    APPLY,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    json_patch,
    merge_patch,
)
from jobledger.sandbox.patching.server_side_apply import server_side_apply
from jobledger.sandbox.patching.strategic import strategic_patch
from jobledger.sandbox.writing.creation import insert
from jobledger.sandbox.writing.updates import Edit, update

_UNPROCESSABLE: Final = 422


def patch(
    storage: Storage, target: Target, content_type: str, body: JsonValue, options: WriteOptions
) -> Version:
    """Change an object by a patch of one of the four kinds (apply has `apply`).

    Raises:
        Refusal: 415, the kind of patch is not understood for this kind of object; 400 or 422, the
            patch cannot be read or carried out; and all that `update` raises.
    """
    return update(storage, target, _edit(target, content_type, body), options)


def _edit(target: Target, content_type: str, body: JsonValue) -> Edit:
    if content_type == JSON_PATCH:
        return lambda live: (json_patch(live, body), None)
    if content_type == MERGE:
        _check_object(body)
        return lambda live: (merge_patch(live, body), None)
    if content_type == STRATEGIC and not target.kind.custom:
        _check_object(body)
        return lambda live: (strategic_patch(live, body), None)
    accepted = [JSON_PATCH, MERGE, APPLY]
    raise unsupported_media_type(
        accepted if target.kind.custom else [JSON_PATCH, MERGE, STRATEGIC, APPLY]
    )


def _check_object(body: JsonValue) -> None:
    if not isinstance(body, dict):
        raise bad_request("json: cannot unmarshal array into Go value of type map[string]any")


def apply(
    storage: Storage,
    target: Target,
    body: JsonValue,
    options: WriteOptions,
    query: Mapping[str, str],
) -> tuple[Version, bool]:
    """Apply a configuration; return the object and whether it is new.

    Raises:
        Refusal: 409, another manager owns a field that would change, or a precondition fails; 404,
            the subresource of an object that is not there; 400, 422.
    """
    if not query.get("fieldManager"):
        error = required("fieldManager", "is required for apply patch")
        message = f'PatchOptions.meta.k8s.io "" is invalid: {error}'
        raise Refusal(_UNPROCESSABLE, "Invalid", message)
    applied = _configuration(target, body)
    metadata = applied["metadata"]
    with storage.lock:
        live = storage.get(target.kind.storage, (target.namespace, target.name))
        if live is not None:
            return update(
                storage, target, _apply_edit(storage, target, applied, options), options
            ), False
        if target.subresource:
            raise not_found(target.kind, target.name)
        if metadata.pop("uid", None):
            raise conflict(target.kind, target.name, "uid mismatch: the object is not there")
        metadata.pop("resourceVersion", None)
        entry = options.writer.entry(leaves(applied, shape_of(target.kind)), storage.now())
        collection = replace(target, name="")
        return insert(storage, collection, applied, options, [entry]), True


def _configuration(target: Target, body: JsonValue) -> Document:
    """Return what an apply request applies: only what its address may touch."""
    _check_object(body)
    for field in ("apiVersion", "kind"):
        if not body.get(field):
            raise bad_request(f"{field} must be set in an apply request")
    if isinstance(body.get("metadata"), dict) and body["metadata"].get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    applied = check_readable(target.kind, body)
    metadata = applied["metadata"]
    metadata.setdefault("name", target.name)
    if target.subresource == "status":
        kept = {key: metadata[key] for key in ("name", "uid", "resourceVersion") if key in metadata}
        head = {"apiVersion": applied["apiVersion"], "kind": applied["kind"], "metadata": kept}
        return head | ({"status": applied["status"]} if "status" in applied else {})
    if target.kind.has_status:
        applied.pop("status", None)
    return applied


def _apply_edit(storage: Storage, target: Target, applied: Document, options: WriteOptions) -> Edit:
    def edit(live: Document) -> tuple[JsonValue, list[Document] | None]:
        shape = shape_of(target.kind)
        writer, instant = options.writer, storage.now()
        result = server_side_apply(
            live, applied, shape, writer, force=options.force, instant=instant
        )
        return result.document, result.entries

    return edit
