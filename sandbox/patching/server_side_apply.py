"""What server-side apply makes of an object: merge, give up fields, find conflicts.

Source: KEP-555; the merge algorithm of sigs.k8s.io/structured-merge-diff/v6, with fields of one
manager in one entry per subresource.
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from jobledger.sandbox.model.documents import Document, JsonValue, at, copy_of, decode, encode
from jobledger.sandbox.model.field_ownership import (
    Path,
    Writer,
    from_fields,
    item_step,
    leaves,
    shown_path,
    to_fields,
)
from jobledger.sandbox.model.list_shapes import ObjectShape, Shape
from jobledger.sandbox.model.refusals import Refusal

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Applied:
    """What an apply results in: the merged object and its new managedFields."""

    document: Document
    entries: list[Document]


def server_side_apply(
    live: Document,
    applied: Document,
    shape: ObjectShape,
    writer: Writer,
    *,
    force: bool,
    instant: str,
) -> Applied:
    """Return the live object with the applied fields, owned by the writer.

    Fields the writer applied earlier and leaves out now are removed, unless somebody else owns
    them too.

    Raises:
        Refusal: 409, a field with another value is owned by somebody else, and not `force`.
    """
    wanted = leaves(applied, shape)
    entries = (live.get("metadata") or {}).get("managedFields") or []
    others = [(e, from_fields(e.get("fieldsV1") or {})) for e in entries if not writer.wrote(e)]
    own = next((entry for entry in entries if writer.wrote(entry)), None)
    earlier = from_fields(own.get("fieldsV1") or {}) if own else set()
    present = leaves(live, shape)
    changed = {path for path, value in wanted.items() if present.get(path, _ABSENT) != value}
    disputed = [(entry, path) for entry, paths in others for path in sorted(paths & changed)]
    if disputed and not force:
        raise _conflict(disputed)
    merged = _merge(live, applied, shape)
    held = set().union(*(paths for _, paths in others)) if others else set()
    for path in sorted(earlier - wanted.keys(), key=len, reverse=True):
        if not any(other[: len(path)] == path for other in held):
            _remove(merged, path)
    kept = []
    for entry, paths in others:
        rest = paths - changed
        if rest:
            kept.append(entry if rest == paths else entry | {"fieldsV1": to_fields(rest)})
    same = own is not None and earlier == wanted.keys()
    mine = own if same and own is not None else writer.entry(wanted, instant)
    return Applied(merged, [*kept, mine])


def _merge(old: JsonValue, new: JsonValue, shape: Shape) -> JsonValue:
    """Return `old` with everything in `new`, lists by the identity of their items."""
    if isinstance(old, dict) and isinstance(new, dict) and not shape.is_atomic:
        merged = dict(old)
        for key, value in new.items():
            merged[key] = _merge(old.get(key), value, shape.inside(key))
        return merged
    if isinstance(old, list) and isinstance(new, list) and shape.is_set:
        return [*old, *(item for item in new if item not in old)]
    if isinstance(old, list) and isinstance(new, list) and shape.keys:
        places = {item_step(item, shape): i for i, item in enumerate(old)}
        items = list(old)
        for item in new:
            place = places.get(item_step(item, shape))
            if place is None:
                items.append(copy_of(item))
            else:
                items[place] = _merge(items[place], item, shape.item)
        return items
    return copy_of(new)


def _remove(document: Document, path: Path) -> None:
    """Remove the value at a path, in copies of what leads to it; drop what becomes empty."""
    step, rest = path[0], path[1:]
    key = step.partition(":")[2]
    if key not in document:
        return
    if not rest:
        del document[key]
        return
    inner = document[key]
    if isinstance(inner, list):
        document[key] = _without(inner, rest)
    elif isinstance(inner, dict):
        document[key] = dict(inner)
        _remove(document[key], rest)
    if document[key] in ({}, []):
        del document[key]


def _without(items: list[JsonValue], path: Path) -> list[JsonValue]:
    """Return the items without what the path names; an item goes with the last field but its keys.

    The keys themselves stay until then: they are what finds the item.
    """
    kind, _, text = path[0].partition(":")
    wanted = decode(text.encode())
    kept = []
    for item in items:
        is_it = item == wanted if kind == "v" else all(at(item, k) == v for k, v in wanted.items())
        if not is_it:
            kept.append(item)
        elif path[1:]:
            inner = dict(item)
            if path[1].partition(":")[2] not in wanted:
                _remove(inner, path[1:])
            if inner != wanted:
                kept.append(inner)
    return kept


def _owner(entry: Document) -> str:
    """Return a manager as conflict messages name it."""
    text = encode(entry.get("manager", "")).decode()
    if entry.get("subresource"):
        text += f' with subresource "{entry["subresource"]}"'
    if entry.get("operation") == "Update":
        text += f" using {entry.get('apiVersion')}"
        text += f" at {entry['time']}" if entry.get("time") else ""
    return text


def _conflict(disputed: list[tuple[Document, Path]]) -> Refusal:
    """Return the 409 that names every disputed field and its owner."""
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_owner(entry)}",
            "field": shown_path(path),
        }
        for entry, path in disputed
    ]
    if len(causes) == 1:
        text = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        owners: dict[str, list[str]] = {}
        for cause in causes:
            owners.setdefault(cause["message"], []).append(f"- {cause['field']}")
        listed = "\n".join(
            f"{owner.replace('conflict', 'conflicts', 1)}:\n" + "\n".join(fields)
            for owner, fields in owners.items()
        )
        text = f"{len(causes)} conflicts: {listed}"
    message = f"Apply failed with {text}"
    return Refusal(HTTPStatus.CONFLICT, "Conflict", message, {"causes": causes})
