"""Keeps an observation in the log as it came: with the first event that it has brought.

What the events of its turn say under the same names is not said twice. Written is the rest: the
type of the observation, and each field that nothing else says or that says something else. So
reading gives back what was seen, field by field, and no rule is asked what it may have been.
"""

from collections.abc import Mapping
from typing import TypeVar, cast, get_args

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

from jobledger.core.errors import BrokenChain
from jobledger.core.log.codec import ABSENT, defaults, plain
from jobledger.core.log.storable import storable
from jobledger.core.values.documents import Manifest

Observation = TypeVar("Observation", bound=Struct)

KEY = "observed"
"""Where the observation stands in the payload of the first event of its turn."""

TYPE = "type"
"""Its stored name; no field of an observation is called so."""

TOLD_ONCE = Meta(extra={"told": "once"})
"""Annotates a field that is kept only where an event takes it over: too large to be repeated,
and of no weight for what is decided when no event takes it."""


def written(name: str, observation: Struct, said: Mapping[str, object]) -> Manifest:
    """Return what is to be kept of an observation; `said` is known without it, by field.

    Redaction and bounds are the business of whoever maps objects to observations. A text that the
    database could not hold is made to fit all the same: one job must not keep the others waiting.
    """
    kept: dict[str, object] = {TYPE: name}
    for field, default in defaults(type(observation)):
        value = getattr(observation, field)
        known = said.get(field, default)
        if known is value or field in told_once(type(observation)) or known == value:
            continue
        kept[field] = storable(plain(value))
    return cast("Manifest", kept)


def read(cls: type[Observation], kept: Manifest, said: Mapping[str, object]) -> Observation:
    """Return the observation of which `kept` was written beside the same `said`.

    Raises:
        BrokenChain: it is not one of that class.
    """
    types, values = _types(cls), dict[str, object]()
    try:
        for field, default in defaults(cls):
            if field in kept:
                values[field] = convert(kept[field], types[field])
            elif (known := said.get(field, default)) is not ABSENT:
                values[field] = known
        return cls(**values)
    except (ValidationError, TypeError) as error:
        problem = f"what was seen is no {cls.__name__} ({error}); run `jobledger verify`"
        raise BrokenChain("an observation", problem) from error


_TYPES: dict[type, dict[str, object]] = {}
_TOLD_ONCE: dict[type, frozenset[str]] = {}


def _types(cls: type[Struct]) -> Mapping[str, object]:
    """Return the types of a class' fields, by name."""
    if (known := _TYPES.get(cls)) is None:
        known = _TYPES[cls] = {field.name: field.type for field in fields(cls)}
    return known


def told_once(cls: type[Struct]) -> frozenset[str]:
    """Return the names of the fields that are annotated as `TOLD_ONCE`."""
    if (known := _TOLD_ONCE.get(cls)) is None:
        known = frozenset(name for name, hint in _types(cls).items() if TOLD_ONCE in get_args(hint))
        _TOLD_ONCE[cls] = known
    return known
