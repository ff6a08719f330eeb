"""Finds the places in which two documents differ; lists whose items have names go by these."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobledger.core.values.documents import Json, Manifest, child, items

NAMING_KEYS = ("name", "groupName", "mountPath", "containerPort")
"""What tells the items of a list apart, whatever their order: containers, environment variables,
worker groups, replicated jobs, mounts, ports. Source: the merge keys of Kubernetes' own lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in which two documents differ."""

    path: str
    """With the names of list items in brackets: `spec.containers[trainer].image`."""
    here: Json
    """None: there is nothing."""
    there: Json


def differing(here: Json, there: Json, path: str = "") -> Iterator[Place]:
    """Yield the innermost places that differ; of an object that only one has, the outermost.

    A list that only one has is empty in the other: its items are told one by one.
    """
    if here == there:
        return
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for key in sorted({*here, *there}):
            inner = f"{path}.{key}" if path else key
            yield from differing(here.get(key), there.get(key), inner)
        return
    if (_is_list(here) or here is None) and (_is_list(there) or there is None):
        ours, theirs = _by_name(here or (), there or ())
        for name in dict.fromkeys((*ours, *theirs)):
            yield from differing(ours.get(name), theirs.get(name), f"{path}[{name}]")
        return
    yield Place(path=path, here=here, there=there)


def _is_list(value: Json) -> bool:
    """Return whether it is a list of objects: one of texts and numbers is one value, a command."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    return all(isinstance(item, Mapping) for item in value)


def _by_name(*lists: Json) -> list[dict[str, Json]]:
    """Return the items of lists by what names them in all of these, or else by their places."""
    listed = [[child({"of": item}, "of") for item in items(some)] for some in lists]
    for key in NAMING_KEYS:
        names = [[str(item.get(key, "")) for item in some] for some in listed]
        if all(all(some) and len(set(some)) == len(some) for some in names):
            return [dict(zip(*pair, strict=True)) for pair in zip(names, listed, strict=True)]
    return [{str(place): item for place, item in enumerate(some)} for some in listed]


def without(document: Manifest, *keys: str) -> Manifest:
    """Return an object without some of its keys."""
    return {key: value for key, value in document.items() if key not in keys}
