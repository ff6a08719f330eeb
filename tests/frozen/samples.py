"""Samples of events: how they are made up once, and where they are kept for ever.

A sample file is never changed after its release: it stands for what is in somebody's log.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin
from uuid import UUID, uuid5

from msgspec import Struct, structs

from jobledger.core.catalogue import SCHEMA_VERSION, TYPES, JobEvent
from jobledger.core.log.codec import encode
from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.ids import NAMESPACE
from tests.support.rayjob_builders import after

FOLDER = Path(__file__).parent / "events"
DOCUMENT: Manifest = {"text": "é€", "list": [1, None, True, {"deep": "\n"}], "": {}}


def path_of(name: str, version: int) -> Path:
    """Return where the sample of a type in a schema version is kept."""
    return FOLDER / f"{name}.v{version}.json"


def every_event() -> Iterator[JobEvent]:
    """Yield an event of every type with every field set, and one with no more than it must have."""
    for cls in TYPES.values():
        yield made_up(cls, full=True)
        yield made_up(cls, full=False)


def made_up(cls: Any, *, full: bool) -> Any:  # noqa: ANN401 any Struct
    """Return an instance, with every field set or only those that have no default."""
    values = {
        field.name: _value(field.type, field.name, full=full)
        for field in structs.fields(cls)
        if full or _is_required(field)
    }
    return cls(**values)


def _is_required(field: structs.FieldInfo) -> bool:
    return field.required


def _value(hint: Any, name: str, *, full: bool) -> object:  # noqa: ANN401 one return per type
    if isinstance(hint, UnionType):
        parts = [part for part in get_args(hint) if part is not NoneType]
        return _value(parts[0], name, full=full)
    if get_origin(hint) is tuple:
        return (_value(get_args(hint)[0], name, full=full),)
    hint = getattr(hint, "__supertype__", hint)
    if not isinstance(hint, type):
        return DOCUMENT
    if issubclass(hint, Enum):
        return list(hint)[-1]
    if issubclass(hint, Struct):
        return made_up(hint, full=full)
    if hint is datetime:
        return after(len(name) + 0.000001)
    if hint is UUID:
        return uuid5(NAMESPACE, name)
    simple: Mapping[type, object] = {bool: True, int: len(name), str: f"some {name}"}
    return simple[hint]


def meaning(value: object) -> Json:
    """Return everything that a value says, its defaults spelt out."""
    if isinstance(value, Struct):
        return {name: meaning(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {str(key): meaning(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [meaning(item) for item in value]
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, datetime):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def sample(name: str) -> dict[str, Any]:
    """Return the sample of a type in its newest schema version."""
    cases = {}
    for case, full in (("full", True), ("least", False)):
        event = made_up(TYPES[name], full=full)
        cases[case] = {
            "occurred_at": event.at.isoformat(),
            "data": encode(event),
            "means": meaning(event),
        }
    return {"type": name, "schema_version": SCHEMA_VERSION, "cases": cases}


def written(sample_of_type: Mapping[str, Any]) -> str:
    """Return the text of a sample file."""
    return json.dumps(sample_of_type, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
