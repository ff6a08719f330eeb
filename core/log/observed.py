"""Keeps an observation in the log as it came: with the first event that it has brought.

What the events of its turn say under the same names is not said twice. Written is the rest: the
type of the observation, and each field that nothing else says or that says something else. So
reading gives back what was seen, field by field, and no rule is asked what it may have been.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import TypeVar, cast

from jobledger.core.errors import BrokenChain
from jobledger.core.log.codec import plain, reader
from jobledger.core.log.storable import storable
from jobledger.core.values.documents import Manifest

Observation = TypeVar("Observation")

KEY = "observed"
"""Where the observation stands in the payload of the first event of its turn."""

TYPE = "type"
"""Its stored name; no field of an observation is called so."""

TOLD_ONCE = {"told": "once"}
"""Metadata of a field that is kept only where an event takes it over: too large to be repeated,
and of no weight for what is decided when no event takes it."""

_ABSENT = object()


def written(name: str, observation: object, said: Mapping[str, object]) -> Manifest:
    """Return what is to be kept of an observation; `said` is known without it, by field.

    Redaction and bounds are the business of whoever maps objects to observations. A text that the
    database could not hold is made to fit all the same: one job must not keep the others waiting.
    """
    kept: dict[str, object] = {TYPE: name}
    for field, default in _fields(type(observation)):
        value = getattr(observation, field.name)
        known = said.get(field.name, default)
        if known is value or known == value or (field.metadata and "told" in field.metadata):
            continue
        kept[field.name] = storable(plain(value))
    return cast("Manifest", kept)


def read(cls: type[Observation], kept: Manifest, said: Mapping[str, object]) -> Observation:
    """Return the observation of which `kept` was written beside the same `said`.

    Raises:
        BrokenChain: it is not one of that class.
    """
    try:
        values: dict[str, object] = {}
        for field, default in _fields(cls):
            if field.name in kept:
                values[field.name] = reader(cls, field.name)(kept[field.name])
            elif (known := said.get(field.name, default)) is not _ABSENT:
                values[field.name] = known
        return cls(**values)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        problem = f"what was seen is no {cls.__name__} ({error}); run `jobledger verify`"
        raise BrokenChain("an observation", problem) from error


_FIELDS: dict[type, tuple[tuple[Field[object], object], ...]] = {}


def _fields(cls: type) -> tuple[tuple[Field[object], object], ...]:
    """Return the fields of a class with their defaults, `_ABSENT` where there is none."""
    if (known := _FIELDS.get(cls)) is None:
        known = _FIELDS[cls] = tuple((field, _default(field)) for field in fields(cls))
    return known


def _default(field: Field[object]) -> object:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else _ABSENT
