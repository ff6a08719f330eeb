"""What an object must be before it is stored, on every write: readable, complete, valid."""

from http import HTTPStatus
from typing import Final

from jobledger.sandbox.admission import jobset_webhook
from jobledger.sandbox.admission.builtin_rules import complete_and_check
from jobledger.sandbox.admission.schemas import (
    apply_defaults,
    drop_nulls,
    json_type,
    prune,
    validate,
)
from jobledger.sandbox.model.documents import Document, JsonValue
from jobledger.sandbox.model.kinds import Kind
from jobledger.sandbox.model.names import check_labels
from jobledger.sandbox.model.refusals import FieldError, Refusal, bad_request, invalid, wrong
from jobledger.sandbox.model.write_options import WriteOptions

_METADATA_TYPES: Final = {
    "name": str,
    "generateName": str,
    "namespace": str,
    "uid": str,
    "resourceVersion": str,
    "generation": int,
    "creationTimestamp": str,
    "deletionTimestamp": str,
    "deletionGracePeriodSeconds": int,
    "labels": dict,
    "annotations": dict,
    "ownerReferences": list,
    "finalizers": list,
    "managedFields": list,
    "selfLink": str,
}

_GO_TYPES: Final = {dict: "map[string]string", list: "[]string", str: "string", int: "int64"}


_JOBSETS: Final = ("jobset.x-k8s.io", "jobsets")
"""The one kind that has webhooks."""


def check_readable(kind: Kind, document: JsonValue) -> Document:
    """Return a request's object if it is one of `kind`; drop nulls from its metadata, in place.

    Raises:
        Refusal: 400, it cannot be read as such an object.
    """
    if not isinstance(document, dict):
        raise bad_request(f"cannot unmarshal {json_type(document)} into Go value of type object")
    found = (document.get("apiVersion", kind.api_version), document.get("kind", kind.kind))
    if found != (kind.api_version, kind.kind):
        raise bad_request(
            f"{found[1]} in version {found[0]} cannot be handled as a {kind.kind}: "
            f"the API version in the data ({found[0]}, Kind={found[1]}) does not match the "
            f"expected API version ({kind.api_version}, Kind={kind.kind})"
        )
    metadata = document.get("metadata")
    if metadata is None:
        metadata = document["metadata"] = {}
    if not isinstance(metadata, dict):
        raise _unreadable(kind, "metadata", metadata, "v1.ObjectMeta")
    for key in [key for key in metadata if key not in _METADATA_TYPES or metadata[key] is None]:
        del metadata[key]
    _check_types(kind, metadata)
    return document


def _check_types(kind: Kind, metadata: Document) -> None:
    """See that metadata has the types it must have; drop empty parts, in place."""
    for key, value in metadata.items():
        wanted = _METADATA_TYPES[key]
        if not isinstance(value, wanted):
            raise _unreadable(kind, f"metadata.{key}", value, _GO_TYPES[wanted])
    for field in ("labels", "annotations"):
        for key, value in (metadata.get(field) or {}).items():
            if not isinstance(value, str):
                raise _unreadable(kind, f"metadata.{field}.{key}", value, "string")
    for key in ("labels", "annotations", "ownerReferences", "finalizers", "managedFields"):
        if key in metadata and not metadata[key]:
            del metadata[key]


def _unreadable(kind: Kind, field: str, value: JsonValue, wanted: str) -> Exception:
    return bad_request(
        f"{kind.kind} in version {kind.version!r} cannot be handled as a {kind.kind}: json: "
        f"cannot unmarshal {json_type(value)} into Go struct field .{field} of type {wanted}"
    )


def admit(kind: Kind, new: Document, old: Document | None, options: WriteOptions) -> None:
    """Prune, default and check an object (in its own version) in place.

    Raises:
        Refusal: 422 names every field that breaks a rule; 400 for unknown fields if the request is
            strict about them; 500 for unknown fields in what is applied.
    """
    errors = _check_metadata(new["metadata"])
    has_webhook = (kind.group, kind.plural) == _JOBSETS
    if has_webhook and old is None:
        jobset_webhook.complete(new)
    if kind.custom and kind.schema is not None:
        unknown = prune(new, kind.schema)
        if unknown and options.writer.operation == "Apply":
            raise _untyped(kind, new["metadata"], unknown)
        _tell_unknown(unknown, options)
        if options.writer.operation != "Apply":  # what is applied keeps its nulls, and is refused
            drop_nulls(new, kind.schema)
        apply_defaults(new, kind.schema)
        errors += validate(new, kind.schema, old)
    elif not kind.custom:
        errors += complete_and_check(kind, new, old)
    if errors:
        raise invalid(kind, new["metadata"].get("name", ""), errors)
    if has_webhook:
        _ask_webhook(kind, new, old)
    if kind.deprecation_warning:
        options.warnings.append(kind.deprecation_warning)


def _ask_webhook(kind: Kind, new: Document, old: Document | None) -> None:
    errors = jobset_webhook.check(new, old)
    if errors:
        found = invalid(kind, new["metadata"].get("name", ""), errors)
        said = f'admission webhook "{jobset_webhook.NAME}" denied the request: {found.message}'
        raise Refusal(found.code, found.reason, said, found.details)


def _untyped(kind: Kind, metadata: Document, unknown: list[str]) -> Refusal:
    """Return the refusal of an apply with fields that the schema lacks.

    Source: k8s.io/apimachinery managedfields, and the errors of structured-merge-diff.
    """
    found = [f".{path}: field not declared in schema" for path in unknown]
    errors = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
    name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    version = f"{kind.group}/{kind.version}, Kind={kind.kind}"
    sentence = f"failed to create typed patch object ({name}; {version}): {errors}"
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "", sentence)


def _tell_unknown(unknown: list[str], options: WriteOptions) -> None:
    """Warn of unknown fields, or refuse them, as the request asks."""
    told = [f'unknown field "{path}"' for path in unknown]
    if told and options.validation == "Strict":
        raise bad_request("strict decoding error: " + ", ".join(told))
    if options.validation == "Warn":
        options.warnings.extend(told)


def _check_metadata(metadata: Document) -> list[FieldError]:
    """Return what is wrong with labels and owners."""
    errors = check_labels(metadata.get("labels") or {})
    owners = metadata.get("ownerReferences") or ()
    for owner in owners:
        if not isinstance(owner, dict):
            raise bad_request("json: cannot unmarshal into Go struct field .ownerReferences")
        for key, word in (("apiVersion", "version"), ("kind",) * 2, ("name",) * 2, ("uid",) * 2):
            if not owner.get(key):
                rule = f"{word} must not be empty"
                errors.append(wrong(f"metadata.ownerReferences.{key}", "", rule))
    if sum(owner.get("controller") is True for owner in owners) > 1:
        rule = "Only one reference can have Controller set to true"
        errors.append(wrong("metadata.ownerReferences", list(owners), rule))
    return errors
