"""Keeps the form that a JobSet has where what is built means the same.

The order of named entries (environment variables, ports, volumes) is not what anybody asked for:
Trainer's plugins are asked in another order by every process of it. But a JobSet that runs takes no
change of its Pods' templates, and another order is one; so what is there sets the order, and the
form of an amount: JobSet's webhook writes that of Kubernetes (`1500m` for `1.50`).

Of its volume claims it never takes a change, and what was filled in when it was made counts: a list
that is applied again without it is another one. Trainer meets that, too, and gets no further: a job
of its torchtune runtimes is neither suspended nor resumed.
"""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.quantities import parse_quantity

RESOURCES = "resources"
"""The field of a container that holds amounts."""

CLAIMS = "volumeClaimPolicies"
"""The field that is applied as a whole and may never change. Source: JobSet's definition."""


def as_it_stands(found: Manifest, built: Manifest) -> Manifest:
    """Return the specification to apply over that of a JobSet that is there."""
    ordered = {key: in_the_order_of(found.get(key), value) for key, value in built.items()}
    if CLAIMS in built and _is_part_of(built[CLAIMS], found.get(CLAIMS)):
        ordered[CLAIMS] = found[CLAIMS]
    return ordered


def _is_part_of(built: Json, found: Json) -> bool:
    """Return whether `found` says all that is built, and whatever was filled in besides."""
    if isinstance(built, Mapping) and isinstance(found, Mapping):
        return all(_is_part_of(value, found.get(key)) for key, value in built.items())
    if _is_list(built) and _is_list(found):
        pairs = zip(built, found, strict=False)
        return len(built) == len(found) and all(_is_part_of(*pair) for pair in pairs)
    amount = parse_quantity(built)
    return built == found or (amount is not None and amount == parse_quantity(found))


def in_the_order_of(found: Json, built: Json) -> Json:
    """Return `built`, with the lists whose entries have the same names in the order of `found`."""
    if isinstance(built, Mapping) and isinstance(found, Mapping):
        return {key: _as_found(key, found.get(key), value) for key, value in built.items()}
    if _is_list(built) and _is_list(found):
        ours, theirs = _by_name(built), _by_name(found)
        if ours is not None and theirs is not None and set(ours) == set(theirs):
            return [in_the_order_of(there, ours[name]) for name, there in theirs.items()]
    return built


def _as_found(key: str, found: Json, built: Json) -> Json:
    if key == RESOURCES and _is_part_of(built, found) and _is_part_of(found, built):
        return found
    return in_the_order_of(found, built)


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
