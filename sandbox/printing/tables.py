"""Objects as the rows that `kubectl get` prints (meta.k8s.io/v1 Table)."""

from collections.abc import Iterable

from jobledger.sandbox.model.documents import Document, JsonValue
from jobledger.sandbox.model.kinds import Kind
from jobledger.sandbox.model.storage import Version, shown_as
from jobledger.sandbox.printing.ages import age
from jobledger.sandbox.printing.jsonpath import read_path
from jobledger.sandbox.printing.printer_columns import COLUMNS, DEFAULT_COLUMNS


def table(
    kind: Kind, versions: Iterable[Version], metadata: Document, *, whole: bool, headed: bool = True
) -> Document:
    """Return a Table of objects.

    Args:
        kind: In which version they were asked for.
        versions: The objects.
        metadata: Of the list (or of the one object).
        whole: Whether each row carries the whole object rather than its metadata.
        headed: Whether the headings are told; in a watch only the first table does.
    """
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": headings(kind) if headed else None,
        "rows": [
            {"cells": cells(kind, version.document), "object": _shown(kind, version, whole=whole)}
            for version in versions
        ],
    }


def partial(version: Version) -> Document:
    """Return an object's metadata alone."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": version.document["metadata"],
    }


def _shown(kind: Kind, version: Version, *, whole: bool) -> Document:
    return shown_as(kind, version.document) if whole else partial(version)


def headings(kind: Kind) -> list[Document]:
    """Return the column definitions of a kind."""
    if not kind.custom:
        return [
            _heading(column.name, column.type, priority=int(column.wide))
            for column in COLUMNS.get(kind.storage, DEFAULT_COLUMNS)
        ]
    return [
        _heading("Name", "string"),
        *(
            _heading(c["name"], c["type"], c.get("description", ""), c.get("priority") or 0)
            for c in _custom_columns(kind)
        ),
    ]


def _heading(name: str, kind: str, description: str = "", priority: int = 0) -> Document:
    return {
        "name": name,
        "type": kind,
        "format": "name" if name == "Name" else "",
        "description": description,
        "priority": priority,
    }


def _custom_columns(kind: Kind) -> Iterable[Document]:
    default = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
    return kind.columns or (default,)


def cells(kind: Kind, document: Document) -> list[JsonValue]:
    """Return what stands in an object's row."""
    if not kind.custom:
        return [column.cell(document) for column in COLUMNS.get(kind.storage, DEFAULT_COLUMNS)]
    return [document["metadata"]["name"], *(_cell(document, c) for c in _custom_columns(kind))]


def _cell(document: Document, column: Document) -> JsonValue:
    """Return one cell of a custom column; None, printed as nothing, where there is no value."""
    found = read_path(document, column["jsonPath"])
    if not found:
        return None
    if column["type"] == "date":
        return age(found[0])
    if column["type"] in ("integer", "number", "boolean"):
        return found[0]
    return ",".join(value if isinstance(value, str) else str(value) for value in found)
