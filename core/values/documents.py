"""JSON documents as the core reads them: read-only, recursive, typed without `Any`."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
else:
    Json: TypeAlias = Any  # what decodes events by the types of their fields knows no recursion
"""Any JSON value, to be read and never changed."""

Manifest: TypeAlias = Mapping[str, Json]
"""A JSON object: a Kubernetes object, a part of one, or the payload of an event."""


OBJECT_TYPES: Final = (dict, Mapping)
"""What a JSON object is, to `isinstance`: asking for a `Mapping` alone takes ten times as long."""

LIST_TYPES: Final = (list, Sequence)
"""What a JSON list is, to `isinstance`, where the value is no string."""

LABEL_CHARACTERS_MAX = 253 + 1 + 63 + 1 + 63
"""Of a label as `name=value`: prefix, `/`, name, `=`, value. Source: Kubernetes' labels."""


def read_json(written: str | bytes) -> Json:
    """Return the document that a text holds, also with numbers that msgspec does not take.

    Raises `ValueError` if it holds none.
    """
    try:
        found: Json = msgspec.json.decode(written)
    except msgspec.DecodeError:  # floats that are infinite, endless whole numbers
        found = json.loads(written)
    return found


def read_object(written: str | bytes) -> Manifest:
    """Return the JSON object that a text holds; raise `ValueError` if it holds none."""
    if isinstance(found := read_json(written), dict):
        return found
    raise ValueError("the text is no JSON object")


def child(document: Json, *path: str) -> Manifest:
    """Return the object found at `path`, or an empty one.

    It is empty where anything on the way is absent or no object.
    """
    here = document
    for key in path:
        if here is None:  # most often: asked of nothing, `isinstance` looks at all that is abstract
            return {}
        here = here.get(key) if isinstance(here, OBJECT_TYPES) else None
    return here if here is not None and isinstance(here, OBJECT_TYPES) else {}


def items(document: Json, *path: str) -> Sequence[Json]:
    """Return the list found at `path`, or an empty one.

    It is empty where anything on the way is absent or no list.
    """
    found = document
    for key in path:
        if found is None:
            return ()
        found = found.get(key) if isinstance(found, OBJECT_TYPES) else None
    if found is None or isinstance(found, str):
        return ()
    return found if isinstance(found, LIST_TYPES) else ()


def text(document: Json, *path: str) -> str:
    """Return the string found at `path`, or an empty one where it is absent or no string."""
    found = document  # the four walk by themselves: a call for each costs as much as the walk
    for key in path:
        if found is None:
            return ""
        found = found.get(key) if isinstance(found, OBJECT_TYPES) else None
    return found if isinstance(found, str) else ""


def number(document: Json, *path: str) -> int | None:
    """Return the whole number found at `path`, or None where it is absent or no whole number."""
    found = document
    for key in path:
        if found is None:
            return None
        found = found.get(key) if isinstance(found, OBJECT_TYPES) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
