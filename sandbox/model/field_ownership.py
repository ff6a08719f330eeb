"""Who has set which field: `metadata.managedFields`, kept on every write.

A field is named by a path of steps as FieldsV1 writes them: `f:spec`, `k:{"name":"main"}`,
`v:"a"`. Left out, compared with the real server: the `.` of objects that are not list items, and
the folding of the oldest entries.
Source: KEP-555 (server-side apply), sigs.k8s.io/structured-merge-diff/v6.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from jobledger.sandbox.model.documents import Document, JsonValue, decode, encode
from jobledger.sandbox.model.list_shapes import ObjectShape, Shape

Path: TypeAlias = tuple[str, ...]

_NOT_OWNED: Final = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "managedFields",
    }
)
"""Metadata the server sets, or that is the object's address."""

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who writes, how, in which version, through which subresource."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    def wrote(self, entry: Document) -> bool:
        """Return whether a managedFields entry is this writer's."""
        return (
            entry.get("manager") == self.name
            and entry.get("operation") == self.operation
            and entry.get("apiVersion") == self.api_version
            and entry.get("subresource", "") == self.subresource
        )

    def entry(self, paths: Iterable[Path], at: str) -> Document:
        """Return this writer's managedFields entry."""
        entry: Document = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": at,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields(paths),
        }
        return entry | {"subresource": self.subresource} if self.subresource else entry


def to_fields(paths: Iterable[Path]) -> Document:
    """Return paths as a FieldsV1 tree."""
    tree: Document = {}
    for path in sorted(paths):
        here = tree
        for step in path:
            here = here.setdefault(step, {})
        here["."] = {}
    return _without_lonely_dots(tree)


def _without_lonely_dots(tree: Document) -> Document:
    if tree.keys() == {"."}:
        return {}
    return {
        key: value if key == "." else _without_lonely_dots(value) for key, value in tree.items()
    }


def from_fields(tree: Document) -> set[Path]:
    """Return the paths in a FieldsV1 tree."""
    found: set[Path] = set()
    for step, inner in tree.items():
        if step == ".":
            continue
        if not inner or "." in inner:
            found.add((step,))
        found.update((step, *rest) for rest in from_fields(inner))
    return found


def leaves(
    document: Document, shape: ObjectShape, only: Collection[str] = ()
) -> dict[Path, JsonValue]:
    """Return every ownable field of an object with its value (of some top-level fields only)."""
    found: dict[Path, JsonValue] = {}
    for field in only or document:
        if field in ("apiVersion", "kind") or field not in document:
            continue
        value = document[field]
        if field == "metadata":
            value = {key: inner for key, inner in value.items() if key not in _NOT_OWNED}
            if not value:
                continue
        _collect(value, shape.inside(field), (f"f:{field}",), found)
    return found


def item_step(item: JsonValue, shape: Shape) -> str:
    """Return the step to an item of a list of that shape: it is known by its keys.

    A key that is left out has its default.
    """
    defaults = shape.key_defaults
    return "k:" + encode({key: item.get(key, defaults.get(key)) for key in shape.keys}).decode()


def _collect(value: JsonValue, shape: Shape, path: Path, found: dict[Path, JsonValue]) -> None:
    if isinstance(value, dict) and value and not shape.is_atomic:
        for key, inner in value.items():
            _collect(inner, shape.inside(key), (*path, f"f:{key}"), found)
    elif isinstance(value, list) and value and shape.keys and all(_is_object(v) for v in value):
        for item in value:
            here = (*path, item_step(item, shape))
            found[here] = True
            _collect(item, shape.item, here, found)
    elif isinstance(value, list) and value and shape.is_set:
        for item in value:
            found[(*path, "v:" + encode(item).decode())] = True
    else:
        found[path] = value


def _is_object(value: JsonValue) -> bool:
    return isinstance(value, dict)


def record_update(
    old: Document | None, new: Document, shape: ObjectShape, writer: Writer, instant: str
) -> list[Document]:
    """Return the managedFields after a write that was no apply: who changes a field owns it."""
    before = old or {}
    fields = [f for f in {**before, **new} if before.get(f) != new.get(f)]
    was, is_now = leaves(before, shape, fields or ("",)), leaves(new, shape, fields or ("",))
    changed = {p for p, value in is_now.items() if was.get(p, _ABSENT) != value}
    lost = changed | (was.keys() - is_now.keys())
    entries = []
    mine: set[Path] = set()
    for entry in (old or {}).get("metadata", {}).get("managedFields") or ():
        paths = from_fields(entry.get("fieldsV1") or {})
        if writer.wrote(entry):
            mine = paths
            if not lost:
                entries.append(entry)
            continue
        kept = paths - lost
        if kept == paths:
            entries.append(entry)
        elif kept:
            entries.append(entry | {"fieldsV1": to_fields(kept)})
    mine = (mine - lost) | changed
    if lost and mine:
        entries.append(writer.entry(mine, instant))
    return entries


def shown_path(path: Path) -> str:
    """Return a path as conflict messages show it: `.spec.containers[name="main"].image`."""
    text = ""
    for step in path:
        kind, _, rest = step.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            keys = decode(rest.encode())
            text += "[" + ",".join(f"{k}={encode(v).decode()}" for k, v in keys.items()) + "]"
        else:
            text += f"[={rest}]"
    return text
