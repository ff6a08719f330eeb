"""How a patch changes an object: merge patch (RFC 7396) and JSON patch (RFC 6902)."""

from collections.abc import Callable
from typing import Final

from jobledger.sandbox.model.documents import Document, JsonValue, copy_of
from jobledger.sandbox.model.refusals import bad_request, unprocessable

MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"

MOST_OPERATIONS: Final = 10_000
"""A JSON patch with more operations is refused, as the real server does."""


def merge_patch(target: JsonValue, patch: JsonValue) -> JsonValue:
    """Return `target` with `patch` merged into it; null deletes."""
    if not isinstance(patch, dict):
        return copy_of(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def json_patch(document: Document, operations: JsonValue) -> Document:
    """Return the document after the operations.

    Raises:
        Refusal: 400 for what is no JSON patch, 422 for an operation that cannot be carried out.
    """
    if not isinstance(operations, list) or not all(isinstance(op, dict) for op in operations):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    if len(operations) > MOST_OPERATIONS:
        raise bad_request(f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}")
    holder: Document = {"": copy_of(document)}
    for operation in operations:
        act = _OPERATIONS.get(operation.get("op", ""))
        if act is None or not isinstance(operation.get("path"), str):
            raise unprocessable(f"Unexpected kind: {operation.get('op')}")
        try:
            act(holder, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            why = f"{operation['op']} operation does not apply: doc is missing path: "
            raise unprocessable(f"{why}{operation['path']}") from error
    result: Document = holder[""]
    return result


def _tokens(pointer: str) -> list[str]:
    """Return a JSON pointer's steps; the first is always the holder's own key."""
    if pointer and not pointer.startswith("/"):
        raise ValueError(pointer)
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")]


def _index(step: str, length: int) -> int:
    if not step.isdigit() or int(step) > length:
        raise IndexError(step)
    return int(step)


def _inside(parent: JsonValue, step: str) -> JsonValue:
    return parent[_index(step, len(parent) - 1)] if isinstance(parent, list) else parent[step]


def _read(holder: Document, pointer: str) -> JsonValue:
    found: JsonValue = holder
    for step in _tokens(pointer):
        found = _inside(found, step)
    return found


def _parent(holder: Document, pointer: str) -> tuple[JsonValue, str]:
    *above, last = _tokens(pointer)
    found: JsonValue = holder
    for step in above:
        found = _inside(found, step)
    return found, last


def _put(holder: Document, pointer: str, value: JsonValue) -> None:
    parent, last = _parent(holder, pointer)
    if isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else _index(last, len(parent)), value)
    else:
        parent[last] = value


def _take(holder: Document, pointer: str) -> JsonValue:
    parent, last = _parent(holder, pointer)
    if isinstance(parent, list):
        return parent.pop(_index(last, len(parent) - 1))
    return parent.pop(last)


def _add(holder: Document, operation: Document) -> None:
    _put(holder, operation["path"], copy_of(operation["value"]))


def _remove(holder: Document, operation: Document) -> None:
    _take(holder, operation["path"])


def _replace(holder: Document, operation: Document) -> None:
    parent, last = _parent(holder, operation["path"])
    _inside(parent, last)
    key = _index(last, len(parent) - 1) if isinstance(parent, list) else last
    parent[key] = copy_of(operation["value"])


def _move(holder: Document, operation: Document) -> None:
    _put(holder, operation["path"], _take(holder, operation["from"]))


def _copy(holder: Document, operation: Document) -> None:
    _put(holder, operation["path"], copy_of(_read(holder, operation["from"])))


def _test(holder: Document, operation: Document) -> None:
    try:
        found = _read(holder, operation["path"])
    except (KeyError, IndexError):
        found = None
    if found != operation.get("value"):
        raise unprocessable(f"testing value {operation['path']} failed: test failed")


_OPERATIONS: Final[dict[str, Callable[[Document, Document], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
