"""Keeps the list order of the existing object where a built one has the same entries.

The order of named entries (environment variables, ports, volumes) is not what anybody asked for:
Trainer's plugins are asked in another order by every process of it. But a JobSet that runs takes no
change of its Pods' templates, and another order is one; so what is there sets the order.
"""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from jobledger.core.values.documents import Json


def in_the_order_of(found: Json, built: Json) -> Json:
    """Return `built`, with the lists whose entries have the same names in the order of `found`."""
    if isinstance(built, Mapping) and isinstance(found, Mapping):
        return {key: in_the_order_of(found.get(key), value) for key, value in built.items()}
    if _is_list(built) and _is_list(found):
        ours, theirs = _by_name(built), _by_name(found)
        if ours is not None and theirs is not None and set(ours) == set(theirs):
            return [in_the_order_of(there, ours[name]) for name, there in theirs.items()]
    return built


def _is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _by_name(entries: Sequence[Json]) -> dict[str, Json] | None:
    """Return the entries of a list by their names; None if one has none, or two have the same."""
    named: dict[str, Json] = {}
    for entry in entries:
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(name, str) or name in named:
            return None
        named[name] = entry
    return named
