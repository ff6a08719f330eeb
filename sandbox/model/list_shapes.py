"""Which lists have items of their own identity: what server-side apply merges by.

Source: `x-kubernetes-list-type` in a custom kind's schema; for built-in kinds the `listType` and
`listMapKey` tags of k8s.io/api (v0.36), by field name.
"""

from dataclasses import dataclass
from typing import Final

from jobledger.sandbox.model.documents import Document, JsonValue
from jobledger.sandbox.model.kinds import Kind

_MAP_LISTS: Final[dict[str, tuple[str, ...]]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "volumeMounts": ("mountPath",),
    "imagePullSecrets": ("name",),
    "conditions": ("type",),
    "ownerReferences": ("uid",),
}
_SET_LISTS: Final = ("finalizers",)
_ATOMIC_MAPS: Final = ("selector", "matchLabels", "resourceFieldRef", "fieldRef")


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of one value's structure.

    `schema` is a custom kind's schema of the value, or None for a value of a built-in kind, where
    `field` (its name) decides.
    """

    field: str = ""
    schema: Document | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys of a list's items, or nothing if the list is no map."""
        if self.schema is None:
            return _MAP_LISTS.get(self.field, ())
        if self.schema.get("x-kubernetes-list-type") != "map":
            return ()
        return tuple(self.schema.get("x-kubernetes-list-map-keys") or ())

    @property
    def key_defaults(self) -> dict[str, JsonValue]:
        """Return the defaults of the keys that have one."""
        fields = ((self.schema or {}).get("items") or {}).get("properties") or {}
        return {
            key: fields[key]["default"] for key in self.keys if "default" in fields.get(key, {})
        }

    @property
    def is_set(self) -> bool:
        """Return whether a list is a set of plain values."""
        if self.schema is None:
            return self.field in _SET_LISTS
        return self.schema.get("x-kubernetes-list-type") == "set"

    @property
    def is_atomic(self) -> bool:
        """Return whether an object is owned as a whole."""
        if self.schema is None:
            return self.field in _ATOMIC_MAPS
        return self.schema.get("x-kubernetes-map-type") == "atomic"

    def inside(self, field: str) -> "Shape":
        """Return the shape of a field of this object."""
        if self.schema is None:
            return Shape(field)
        known = (self.schema.get("properties") or {}).get(field)
        rest = self.schema.get("additionalProperties")
        return Shape(field, known or (rest if isinstance(rest, dict) else {}))

    @property
    def item(self) -> "Shape":
        """Return the shape of a list's items."""
        return Shape("", None if self.schema is None else self.schema.get("items") or {})


@dataclass(frozen=True, slots=True)
class ObjectShape(Shape):
    """The shape of a whole object: its metadata is built in, whatever its kind."""

    def inside(self, field: str) -> Shape:
        """Return the shape of a top-level field."""
        return Shape(field) if field == "metadata" else Shape.inside(self, field)


def shape_of(kind: Kind) -> ObjectShape:
    """Return the shape of objects of a kind."""
    return ObjectShape("", kind.schema if kind.custom else None)
