"""The JSONPath of printer columns: fields, indexes, slices, `[*]` and `[?(@.field=="value")]`.

Source: Kubernetes documentation, "JSONPath support"; only what additionalPrinterColumns use.
"""

import re
from functools import cache
from typing import Final

from jobledger.sandbox.model.documents import JsonValue, at

_STEP: Final = re.compile(
    r"\.(?P<field>(?:[^.\[\\]|\\.)+)"
    r"|\[(?P<index>-?\d+|\*)\]"
    r"|\[(?P<first>-?\d*):(?P<end>-?\d*)\]"
    r"|\['(?P<quoted>[^']+)'\]"
    r"|\[\?\(@\.(?P<key>[^=\s]+)\s*==\s*['\"](?P<value>[^'\"]*)['\"]\s*\)\]"
)


@cache
def _steps(path: str) -> tuple[dict[str, str | None], ...]:
    return tuple(found.groupdict() for found in _STEP.finditer(path))


def read_path(document: JsonValue, path: str) -> list[JsonValue]:
    """Return the values at a JSONPath; none where anything on the way is absent."""
    found = [document]
    for step in _steps(path):
        found = [value for here in found for value in _follow(here, step)]
    return [value for value in found if value is not None]


def _follow(here: JsonValue, step: dict[str, str | None]) -> list[JsonValue]:
    field = step["field"] or step["quoted"]
    if field:
        return [here.get(field.replace("\\.", "."))] if isinstance(here, dict) else []
    if not isinstance(here, list):
        return []
    if step["key"]:
        path = step["key"].split(".")
        return [item for item in here if at(item, *path) == step["value"]]
    if step["index"] == "*":
        return list(here)
    if step["index"] is None:
        first, end = step["first"], step["end"]
        return here[int(first) if first else None : int(end) if end else None]
    index = int(step["index"])
    return here[index:][:1] if index >= -len(here) else []
