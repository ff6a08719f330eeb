"""Manifests as plain documents: merged, cut, compared, selected."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from jobledger.core.values.documents import Json, Manifest, child, items
from jobledger.sandbox.model.selectors import label_test

Document = dict[str, Any]

Path = tuple[str, ...]
"""The keys that lead to a field; a list is one field, as a whole."""


def entry(manager: str, operation: str) -> Document:
    """Return an entry of managedFields, without the fields."""
    return {"manager": manager, "operation": operation}


def lasting(spec: Manifest) -> Manifest:
    """Return what may not change while a JobSet runs."""
    return {key: value for key, value in spec.items() if key != "suspend"}


def refused_of_jobset(known: Manifest, changed: Manifest) -> bool:
    """Return whether JobSet's webhook takes no such change: nothing of one that runs."""
    before, after = child(known, "spec"), child(changed, "spec")
    runs = not (before.get("suspend") or after.get("suspend"))
    return runs and lasting(before) != lasting(after)


def owners_of(manifest: Manifest) -> list[Manifest]:
    """Return the owner references of an object."""
    return [child(item) for item in items(manifest, "metadata", "ownerReferences")]


def selects(selector: str, manifest: Manifest) -> bool:
    """Return whether a label selector selects an object."""
    test = test_of(selector)
    return test is None or test({**manifest})


test_of = functools.cache(label_test)


def numbered(known: Manifest, changed: Document) -> Document:
    """Return what is to be stored: another specification has the next generation."""
    if changed.get("spec") == known.get("spec"):
        return changed
    metadata = {**changed["metadata"], "generation": changed["metadata"]["generation"] + 1}
    return {**changed, "metadata": metadata}


def leaves(value: Json, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of all fields."""
    if isinstance(value, Mapping) and value:
        for name, part in value.items():
            yield from leaves(part, (*path, name))
    else:
        yield path


def field_at(value: Json, path: Path) -> Json:
    """Return the field there; None if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def without(value: Any, paths: frozenset[Path]) -> Any:  # noqa: ANN401 free JSON
    """Return a document without some of its fields."""
    if not isinstance(value, Mapping) or not paths:
        return value
    left = {}
    for name, part in value.items():
        if (name,) not in paths:
            deeper = frozenset(path[1:] for path in paths if path[0] == name)
            left[name] = without(part, deeper)
    return left


def merged(known: object, patch: object) -> Any:  # noqa: ANN401 free JSON
    """Return what a merge patch makes of a document."""
    if not isinstance(patch, Mapping):
        return patch
    found = dict(known) if isinstance(known, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), value)
    return found


def without_fields(by: Document, taken: frozenset[str]) -> Document:
    """Return the entry of a writer of the status from whom another has taken fields."""
    if by.get("subresource") != "status":
        return by
    left = {name: value for name, value in by["fieldsV1"]["f:status"].items() if name not in taken}
    return {**by, "fieldsV1": {"f:status": left}}
