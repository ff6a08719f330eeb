"""How an object is deleted: at once, or marked until its finalizers (its node) let it go."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from jobledger.sandbox.admission.builtin_rules import DEFAULT_GRACE_SECONDS
from jobledger.sandbox.model.documents import Document, JsonValue, at, in_seconds
from jobledger.sandbox.model.kinds import Kind
from jobledger.sandbox.model.refusals import (
    Refusal,
    bad_request,
    conflict,
    forbidden,
    not_found,
    unsupported,
)
from jobledger.sandbox.model.storage import Storage, Version, shown_as
from jobledger.sandbox.model.targets import Target

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_POLICIES: Final = ("Background", "Foreground", "Orphan")
_RETURNED_WHOLE: Final = ("pods", "services", "namespaces", "serviceaccounts")
"""Kinds whose deletion is answered with the object rather than with a Status."""

ORPHAN_WARNING: Final = (
    "child pods are preserved by default when jobs are deleted; set "
    "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this "
    "warning"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """What a deletion asks for."""

    propagation: str = ""
    uid: str = ""
    revision: str = ""
    grace_seconds: int | None = None
    dry_run: bool = False


def delete_options(query: Mapping[str, str], body: JsonValue) -> DeleteOptions:
    """Return the options of a DELETE, from its body or else from its query.

    Raises:
        Refusal: 400 or 422, they cannot be read.
    """
    if body is not None and not isinstance(body, dict):
        raise bad_request("the body of a delete must be DeleteOptions")
    given: Document = body or {}
    policy = given.get("propagationPolicy") or query.get("propagationPolicy") or ""
    orphans = given.get("orphanDependents")
    if not policy and orphans is not None:
        policy = "Orphan" if orphans else "Background"
    if policy and policy not in _POLICIES:
        error = unsupported("propagationPolicy", policy, [*_POLICIES, "nil"])
        message = f'DeleteOptions.meta.k8s.io "" is invalid: {error}'
        raise Refusal(422, "Invalid", message)
    grace = given.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    conditions = given.get("preconditions") or {}
    return DeleteOptions(
        propagation=policy,
        uid=conditions.get("uid") or "",
        revision=conditions.get("resourceVersion") or "",
        grace_seconds=None if grace is None else int(grace),
        dry_run=bool(given.get("dryRun") or query.get("dryRun")),
    )


def delete(storage: Storage, target: Target, options: DeleteOptions) -> Document:
    """Delete an object, or mark it; return what the request is answered with.

    Raises:
        Refusal: 404; 403 for what must stay; 409, the object is another one or another version.
    """
    kind = target.kind
    with storage.lock:
        found = storage.get(kind.storage, (target.namespace, target.name))
        if found is None:
            raise not_found(kind, target.name)
        _check_preconditions(kind, found.document, options)
        if kind.plural == "namespaces" and target.name in ("default", "kube-system"):
            raise forbidden(kind, target.name, "this namespace may not be deleted")
        marked = _marked(storage, kind, found.document, options)
        if options.dry_run:
            return _answer(kind, found, gone=marked is None)
        if marked is not None:
            if marked != found.document:
                found = storage.put(kind.storage, marked)
            return _answer(kind, found, gone=False)
        last = storage.remove(kind.storage, (target.namespace, target.name))
        return _answer(kind, last, gone=True)


def _check_preconditions(kind: Kind, document: Document, options: DeleteOptions) -> None:
    metadata = document["metadata"]
    for word, wanted, found in (
        ("UID", options.uid, metadata["uid"]),
        ("ResourceVersion", options.revision, metadata["resourceVersion"]),
    ):
        if wanted and wanted != found:
            why = (
                f"Precondition failed: {word} in precondition: {wanted}, {word} in object meta: "
                f"{found}"
            )
            raise conflict(kind, metadata["name"], why)


def _marked(
    storage: Storage, kind: Kind, document: Document, options: DeleteOptions
) -> Document | None:
    """Return the object as it waits for its end, or None if it may go at once."""
    metadata = dict(document["metadata"])
    finalizers = _finalizers(kind, metadata.get("finalizers") or [], options.propagation)
    grace = _grace_seconds(kind, document, options)
    is_namespace = kind.plural == "namespaces" and not kind.group
    if not finalizers and not grace and not is_namespace:
        return None
    metadata["finalizers"] = finalizers
    if not finalizers:
        del metadata["finalizers"]
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = in_seconds(storage.clock() + timedelta(seconds=grace))
        metadata["deletionGracePeriodSeconds"] = grace
        if is_namespace:
            del metadata["deletionGracePeriodSeconds"]
        if "generation" in metadata:
            metadata["generation"] += 1
    elif grace < metadata.get("deletionGracePeriodSeconds", 0):
        metadata["deletionGracePeriodSeconds"] = grace
    marked = document | {"metadata": metadata}
    if is_namespace:
        marked["status"] = (document.get("status") or {}) | {"phase": "Terminating"}
    return marked


def _finalizers(kind: Kind, present: list[str], policy: str) -> list[str]:
    """Return the finalizers an object has once it is being deleted under a policy."""
    if not policy and preserves_pods(kind) and not {FOREGROUND, ORPHAN} & set(present):
        policy = "Orphan"
    if not policy:
        return present
    kept = [finalizer for finalizer in present if finalizer not in (FOREGROUND, ORPHAN)]
    added = {"Foreground": [FOREGROUND], "Orphan": [ORPHAN]}.get(policy, [])
    return kept + added


def preserves_pods(kind: Kind) -> bool:
    """Return whether a deletion that names no policy leaves the dependents alone."""
    return (kind.group, kind.plural) == ("batch", "jobs")


def _grace_seconds(kind: Kind, document: Document, options: DeleteOptions) -> int:
    """Return how long the object's node has to end it; zero if no node has it.

    Once it is being deleted, only who names a shorter time changes that: its node names none.
    """
    if kind.plural != "pods" or kind.group:
        return 0
    given = at(document, "metadata", "deletionGracePeriodSeconds")
    if isinstance(given, int) and options.grace_seconds is None:
        return given
    ended = at(document, "status", "phase") in ("Succeeded", "Failed")
    if ended or not at(document, "spec", "nodeName"):
        return 0
    if options.grace_seconds is not None:
        return max(options.grace_seconds, 0)
    seconds = at(document, "spec", "terminationGracePeriodSeconds")
    return seconds if isinstance(seconds, int) else DEFAULT_GRACE_SECONDS


def _answer(kind: Kind, version: Version, *, gone: bool) -> Document:
    document = shown_as(kind, version.document)
    if not gone or (not kind.group and kind.plural in _RETURNED_WHOLE):
        return document
    details = {"name": document["metadata"]["name"], "kind": kind.plural}
    if kind.group:
        details["group"] = kind.group
    details["uid"] = document["metadata"]["uid"]
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
