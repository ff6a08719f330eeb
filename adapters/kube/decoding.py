"""Decodes answers into manifests with a JSON decoder written in C.

Whoever may write an object may nest things in it as deep as an API server takes them, ten thousand
levels; Python's limit is a tenth of that. What lies too deep is left out, so that one object keeps
nobody from reading all others.

A whole watch line is decoded in one pass: cutting the object out first, or skipping its
`managedFields`, costs more than building and dropping them (31 µs against 38 for a RayJob of
9 kB).
"""

import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any, TypeVar

import msgspec

from jobledger.adapters.kube.errors import unreadable
from jobledger.core.kinds import KINDS
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest

_JOBS = tuple(kind.resource for kind in KINDS.values())
_NOT_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

DEPTH_MAX = 500
"""Objects and lists in each other; Kubernetes' own kinds have some thirty. Python's limit of a
thousand counts the calls that lead to a decoder as well, and some threads make a hundred."""

FLAT_LEVELS = 60
"""So many are looked for the quick way."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
"""One that does not end goes to the end: else what breaks off is searched once for each quote."""
_STRING_OR_BRACKET = re.compile(_STRING.pattern + rb"|[{}\[\]]", re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_STEPS = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_EMPTY = {ord("{"): b"{}", ord("["): b"[]"}

Decoded = TypeVar("Decoded")


class PageMetadata(msgspec.Struct):
    """Where a page of a list stands."""

    resourceVersion: str = ""  # noqa: N815  # the name on the wire
    continue_token: str = msgspec.field(name="continue", default="")


class ObjectPage(msgspec.Struct):
    """One page of a list; its objects are not decoded yet, so that 500 never exist at once.

    Both members must be there: any other document taken for an empty list would have every object
    believed gone.
    """

    metadata: PageMetadata
    items: list[msgspec.Raw] | None


class WatchLine(msgspec.Struct):
    """One line of a watch: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, and of what."""

    type: str
    object: dict[str, Any]  # JSON; msgspec does not know our recursive alias for it


_page = msgspec.json.Decoder(ObjectPage)
_line = msgspec.json.Decoder(WatchLine)
_object = msgspec.json.Decoder(dict[str, Any])


def read_object(what: str, body: bytes) -> Manifest:
    """Return the object in `body`; raise `UnreadableAnswer` if there is none."""
    try:
        return _object.decode(shallow(body))
    except _NOT_JSON as failure:
        raise unreadable(what, "no JSON object") from failure


def read_page(what: str, body: bytes) -> ObjectPage:
    """Return the page of a list in `body`; raise `UnreadableAnswer` if there is none."""
    try:
        return _whole_or_cut(_page.decode, body)
    except _NOT_JSON as failure:
        raise unreadable(what, "no list of objects") from failure


def shallow(body: bytes) -> bytes:
    """Return JSON in which no object or list lies deeper than `DEPTH_MAX`; an empty one does."""
    body = bytes(body)  # a part of a page is none yet
    if body.count(b"{") + body.count(b"[") <= DEPTH_MAX:  # as in most objects
        return body
    if _is_flat(body):
        return body
    brackets = _STRING.sub(b"", body).translate(None, _NO_BRACKETS)
    deepest = max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)
    return body if deepest <= DEPTH_MAX else _cut(body)


def _is_flat(body: bytes) -> bool:
    """Return whether what is innermost can be taken away until nothing is left, a few times over.

    Brackets in strings only make it look deeper. Taking a level away costs a microsecond.
    """
    left = body.translate(None, _NO_BRACKETS)
    for _ in range(FLAT_LEVELS):
        if not left:
            return True
        left = left.replace(b"{}", b"").replace(b"[]", b"")
    return not left


def _whole_or_cut(decode: Callable[[bytes], Decoded], body: bytes) -> Decoded:
    """Decode what has many objects in it, of which each is looked at by itself afterwards."""
    try:
        return decode(body)
    except RecursionError:
        return decode(_cut(body))


def _cut(body: bytes) -> bytes:
    kept, depth, begin = list[bytes](), 0, 0
    for found in _STRING_OR_BRACKET.finditer(body):
        bracket = body[found.start()]
        step = _STEPS.get(bracket, 0)
        if step > 0 and depth == DEPTH_MAX:
            kept += body[begin : found.start()], _EMPTY[bracket]
        depth += step
        if step < 0 and depth == DEPTH_MAX:
            begin = found.end()
    return b"".join((*kept, body[begin:]))


class ObjectDecoder:
    """Decodes the watched objects of one resource, without their `managedFields`.

    Those are a quarter to a third of an object and tell who wrote what. Of jobs it is kept who
    wrote which field of the status; nobody asks for more, nor of other objects.
    """

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._cut = _keep_status_writers if resource in _JOBS else _drop_managed_fields

    def line(self, what: str, line: bytes) -> WatchLine:
        """Return what a line of a watch says; raise `UnreadableAnswer` if it says nothing."""
        try:
            told = _line.decode(shallow(line))
        except _NOT_JSON as failure:
            raise unreadable(what, "no watch event") from failure
        self._cut(told.object)
        return told

    def object(self, what: str, raw: bytes) -> Manifest:
        """Return one object of a list or a line; raise `UnreadableAnswer` if it is none."""
        try:
            found = _object.decode(shallow(raw))
        except _NOT_JSON as failure:
            raise unreadable(what, "no JSON object") from failure
        self._cut(found)
        return with_kind(self._resource, found)


def with_kind(resource: Resource, manifest: Manifest) -> Manifest:
    """Return the manifest with the `apiVersion` and `kind` that lists of built-in kinds omit."""
    if "kind" in manifest and "apiVersion" in manifest:
        return manifest
    return {"apiVersion": resource.api_version, "kind": resource.kind, **manifest}


def _keep_status_writers(found: dict[str, Any]) -> None:
    metadata = found.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(entries, list):
        return
    kept = []
    for entry in entries:
        fields = entry.get("fieldsV1") if isinstance(entry, dict) else None
        status = fields.get("f:status") if isinstance(fields, dict) else None
        if isinstance(status, dict):
            owned = {"f:status": dict.fromkeys(status, None)}
            kept.append(
                {
                    "manager": entry.get("manager"),
                    "subresource": entry.get("subresource"),
                    "time": entry.get("time"),
                    "fieldsV1": owned,
                }
            )
    metadata["managedFields"] = kept
    if not kept:
        del metadata["managedFields"]


def _drop_managed_fields(found: dict[str, Any]) -> None:
    metadata = found.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
