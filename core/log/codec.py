"""Encodes events as JSON payloads and decodes them, by the fields of their classes.

An event's own `at` is left out (it is the envelope's `occurred_at`), and so is every field that
has its default
value, which keeps
the log small and lets a field be added with a default without a new schema version. Instants keep
microseconds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import TypeVar, cast
from uuid import UUID

from msgspec import NODEFAULT, MsgspecError, Struct, ValidationError, convert
from msgspec.json import Decoder, Encoder
from msgspec.structs import FieldInfo, fields

from jobledger.core.errors import BrokenChain
from jobledger.core.values.documents import Json, Manifest, read_object
from jobledger.core.values.instants import Instant

Event = TypeVar("Event", bound=Struct)

IN_ENVELOPE = "at"
"""The field that is stored in the envelope."""

_AT = IN_ENVELOPE.encode()
_write = Encoder().encode

ABSENT = object()
"""The default of a field that has none."""


def encode(event: Struct) -> Manifest:
    """Return the payload of an event."""
    return {
        name: cast("Json", value) if type(value) in _AS_THEY_ARE else plain(value)
        for name, default in defaults(type(event))
        if name != IN_ENVELOPE and (value := getattr(event, name)) != default
    }


def read(cls: type[Event], payload: bytes, at: Instant) -> Event:
    """Return the event of a payload in the newest version, without a document between.

    Raises as `decode` does.
    """
    comma = b"" if payload == b"{}" else b","
    whole = b'%b%b"%b":%b}' % (payload[:-1], comma, _AT, _write(at))
    try:
        return cast("Event", _DECODERS[cls].decode(whole))
    except MsgspecError:  # numbers that are out of its range, or no such event
        try:
            data = read_object(payload)
        except ValueError as error:
            raise BrokenChain("an event", f"{error}; run `jobledger verify`") from error
        return decode(cls, data, at)


def decode(cls: type[Event], data: Manifest, at: Instant) -> Event:
    """Return the event that a payload holds; raise `BrokenChain` if it holds none of that class."""
    try:
        return convert({**data, IN_ENVELOPE: at}, cls)
    except ValidationError as error:
        problem = f"the payload is not that of {cls.__name__} ({error}); run `jobledger verify`"
        raise BrokenChain("an event", problem) from error


def learn(classes: Iterable[type[Struct]]) -> None:
    """Let msgspec learn the fields of classes; called when a module is imported.

    It learns a class when it first reads one, and shares what it has learned so far: a second
    thread that reads the same class meanwhile ends the process (SIGSEGV, as of msgspec 0.22).
    """
    for cls in classes:
        _DECODERS[cls] = Decoder(cls)


_DECODERS: dict[type[Struct], Decoder[Struct]] = {}


_DEFAULTS: dict[type, tuple[tuple[str, object], ...]] = {}


def defaults(cls: type[Struct]) -> tuple[tuple[str, object], ...]:
    """Return the names of a class' fields with their defaults, `ABSENT` where there is none."""
    if (known := _DEFAULTS.get(cls)) is None:
        known = _DEFAULTS[cls] = tuple((field.name, _default(field)) for field in fields(cls))
    return known


def _default(field: FieldInfo) -> object:
    if field.default is not NODEFAULT:
        return field.default
    return field.default_factory() if field.default_factory is not NODEFAULT else ABSENT


def plain(value: object) -> Json:
    """Return a value of an event or an observation as it stands in JSON."""
    cls = type(value)
    return (_WRITERS.get(cls) or _writer(cls))(value)


Writer = Callable[[object], Json]


def _writer(cls: type) -> Writer:
    """Return what writes the values of a class; found once for each."""
    _WRITERS[cls] = found = next(write for base, write in _OF_BASES if issubclass(cls, base))
    return found


def _as_it_is(value: object) -> Json:
    return cast("Json", value)


def _of_enum(value: object) -> Json:
    return str(cast("Enum", value).value)


def _of_instant(value: object) -> Json:
    return cast("datetime", value).astimezone(UTC).isoformat()


def _of_mapping(value: object) -> Json:
    return dict(cast("Mapping[str, Json]", value))


def _of_sequence(value: object) -> Json:
    return [plain(item) for item in cast("Sequence[object]", value)]


def _of_struct(value: object) -> Json:
    return {
        name: plain(item)
        for name, default in defaults(type(cast("Struct", value)))
        if (item := getattr(value, name)) != default
    }


_OF_BASES: tuple[tuple[type, Writer], ...] = (
    (Enum, _of_enum),
    (str, _as_it_is),
    (int, _as_it_is),
    (float, _as_it_is),
    (type(None), _as_it_is),
    (datetime, _of_instant),
    (UUID, str),
    (dict, _as_it_is),
    (Mapping, _of_mapping),
    (Sequence, _of_sequence),
    (Struct, _of_struct),
)

_AS_THEY_ARE: frozenset[type] = frozenset((str, int, bool, float, type(None)))

_WRITERS: dict[type, Writer] = dict.fromkeys(_AS_THEY_ARE, _as_it_is)
