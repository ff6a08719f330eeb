"""Which kinds of object the API serves, at which address, with which abilities."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from jobledger.sandbox.model.documents import Document

StorageKey: TypeAlias = tuple[str, str]
"""Group and plural under which objects are stored, whatever version they are asked for in."""

Conversion: TypeAlias = Callable[[Document], Document]


def _same(document: Document) -> Document:
    return document


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """One kind of object in one version, as discovery describes it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    """Whether `/status` is an address of its own and the main one leaves the status alone."""
    has_generation: bool = False
    """Whether a change of anything but metadata and status raises metadata.generation."""
    unconditional_update: bool = True
    """Whether a PUT may leave out the resourceVersion."""
    custom: bool = False
    schema: Document | None = None
    columns: tuple[Document, ...] = ()
    """additionalPrinterColumns of a custom kind."""
    stored_as: StorageKey | None = None
    stored_version: str = ""
    """apiVersion in which the objects are stored; empty means this kind's own."""
    from_storage: Conversion = _same
    to_storage: Conversion = _same
    extra_subresources: tuple[str, ...] = ()
    deprecation_warning: str = ""
    singular: str = ""
    list_kind: str = ""

    @property
    def api_version(self) -> str:
        """Return `group/version` as manifests write it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """Return `plural.group` as messages write it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def storage(self) -> StorageKey:
        """Return where the objects are stored."""
        return self.stored_as or (self.group, self.plural)

    @property
    def listed(self) -> str:
        """Return the kind of a list of these objects."""
        return self.list_kind or f"{self.kind}List"

    @property
    def one(self) -> str:
        """Return the singular name kubectl accepts."""
        return self.singular or self.kind.lower()


class Kinds:
    """All kinds served at this moment, by address."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = {(kind.group, kind.version, kind.plural): kind for kind in kinds}

    def __iter__(self) -> Iterator[Kind]:
        return iter(tuple(self._kinds.values()))

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """Return the kind served at an address, or None."""
        return self._kinds.get((group, version, plural))

    def stored(self, storage: StorageKey) -> Kind | None:
        """Return the first kind whose objects are stored under `storage`, or None."""
        return next((kind for kind in self._kinds.values() if kind.storage == storage), None)

    def in_version(self, group: str, version: str) -> list[Kind]:
        """Return the kinds of one API group in one version."""
        return [k for k in self._kinds.values() if (k.group, k.version) == (group, version)]

    def groups(self) -> dict[str, list[str]]:
        """Return the named groups with their versions, in order of preference."""
        found: dict[str, list[str]] = {}
        for kind in self._kinds.values():
            versions = found.setdefault(kind.group, [])
            if kind.group and kind.version not in versions:
                versions.append(kind.version)
        found.pop("", None)
        return found

    def serve(self, kinds: Iterable[Kind]) -> None:
        """Begin to serve kinds, in place of what was served at their addresses."""
        for kind in kinds:
            self._kinds[kind.group, kind.version, kind.plural] = kind

    def withdraw(self, storage: StorageKey) -> None:
        """Stop serving every version of a kind."""
        self._kinds = {key: kind for key, kind in self._kinds.items() if kind.storage != storage}
