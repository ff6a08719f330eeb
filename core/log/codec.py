"""Encodes events as JSON payloads and decodes them, by the fields of their classes.

An event's own `at` is left out (it is the envelope's `occurred_at`), and so is every field that
has its default
value, which keeps
the log small and lets a field be added with a default without a new schema version. Instants keep
microseconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from types import UnionType
from typing import TypeVar, cast, get_args, get_origin
from uuid import UUID

from jobledger.core.errors import BrokenChain
from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.instants import Instant

Event = TypeVar("Event")

IN_ENVELOPE = "at"
"""The field that is stored in the envelope."""


def encode(event: object) -> Manifest:
    """Return the payload of an event."""
    return {
        name: plain(value)
        for name, default in _defaults(type(event))
        if name != IN_ENVELOPE and (value := getattr(event, name)) != default
    }


def decode(cls: type[Event], data: Manifest, at: Instant) -> Event:
    """Return the event that a payload holds; raise `BrokenChain` if it holds none of that class."""
    try:
        values = {
            name: read(data[name])
            for name, read in _readers(cls)
            if name in data and name != IN_ENVELOPE
        }
        if any(name == IN_ENVELOPE for name, _ in _defaults(cls)):
            values[IN_ENVELOPE] = at
        return cls(**values)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        problem = f"the payload is not that of {cls.__name__} ({error}); run `jobledger verify`"
        raise BrokenChain("an event", problem) from error


def _fields(cls: type) -> tuple[Field[object], ...]:
    assert is_dataclass(cls), f"{cls} is no event"
    return fields(cls)


_NO_DEFAULT = object()


_DEFAULTS: dict[type, tuple[tuple[str, object], ...]] = {}


def _defaults(cls: type) -> tuple[tuple[str, object], ...]:
    if (known := _DEFAULTS.get(cls)) is not None:
        return known
    found = []
    for field in _fields(cls):
        default: object = _NO_DEFAULT
        if field.default is not MISSING:
            default = field.default
        elif field.default_factory is not MISSING:
            default = field.default_factory()
        found.append((field.name, default))
    _DEFAULTS[cls] = tuple(found)
    return _DEFAULTS[cls]


_PLAIN = frozenset({str, int, float, bool, type(None)})


def plain(value: object) -> Json:
    """Return a value of an event or an observation as it stands in JSON."""
    if type(value) in _PLAIN:  # most values by far, and quicker than asking what they are a kind of
        return cast("Json", value)
    if isinstance(value, Enum):
        made: Json = str(value.value)
    elif value is None or isinstance(value, bool | int | float | str):
        made = value
    elif isinstance(value, datetime):
        made = value.astimezone(UTC).isoformat()
    elif isinstance(value, UUID):
        made = str(value)
    elif isinstance(value, Mapping):
        made = {str(key): plain(item) for key, item in value.items()}
    elif isinstance(value, Sequence):
        made = [plain(item) for item in value]
    else:
        made = {
            name: plain(item)
            for name, default in _defaults(type(value))
            if (item := getattr(value, name)) != default
        }
    return made


Reader = Callable[[Json], object]


_READERS: dict[type, tuple[tuple[str, Reader], ...]] = {}


def _readers(cls: type) -> tuple[tuple[str, Reader], ...]:
    if (known := _READERS.get(cls)) is not None:
        return known
    _READERS[cls] = tuple((field.name, _reader(field.type)) for field in _fields(cls))
    return _READERS[cls]


def reader(cls: type, name: str) -> Reader:
    """Return what reads a field of a class from JSON."""
    if (known := _READER_OF.get(cls)) is None:
        known = _READER_OF[cls] = dict(_readers(cls))
    return known[name]


_READER_OF: dict[type, dict[str, Reader]] = {}


def _reader(hint: object) -> Reader:
    if isinstance(hint, UnionType):
        inner = [_reader(part) for part in get_args(hint) if part is not type(None)]
        return lambda value: None if value is None else inner[0](value)
    origin = get_origin(hint)
    if origin is tuple:
        item = _reader(get_args(hint)[0])
        return lambda value: tuple(item(part) for part in _list(value))
    target = getattr(hint, "__supertype__", hint)
    if target is datetime:
        return lambda value: datetime.fromisoformat(str(value))
    if target is UUID:
        return lambda value: UUID(str(value))
    if isinstance(target, type) and issubclass(target, Enum):
        return target
    if isinstance(target, type) and is_dataclass(target):
        return lambda value: _nested(target, value)
    if isinstance(target, type) and target in (str, int, bool, float):
        return lambda value: _checked(value, target)
    return lambda value: value


def _list(value: Json) -> Sequence[Json]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        message = f"expected a list, found {type(value).__name__}"
        raise TypeError(message)
    return value


def _nested(cls: type, value: Json) -> object:
    if not isinstance(value, Mapping):
        message = f"expected an object, found {type(value).__name__}"
        raise TypeError(message)
    return cls(**{name: read(value[name]) for name, read in _readers(cls) if name in value})


def _checked(value: Json, target: type) -> Json:
    if not isinstance(value, target):
        message = f"expected {target.__name__}, found {type(value).__name__}"
        raise TypeError(message)
    return value
