"""Where two objects differ, once what means the same to every reader is written the same."""

import json
from collections.abc import Iterator
from typing import Any

from jobledger.core.values.quantities import Quantity, parse_quantity

QUANTITIES = ("limits", "requests", "minResources", "minResource", "overhead")
"""Fields that hold quantities: `1.50` and `1500m` are one, `1Ki` and `1024` too."""

NEEDED = ("minResources", "minResource")
"""Fields in which a resource of which nothing is needed is as good as none."""

TARGET_PORT = "targetPort"
"""Of a Service; Go writes 0 where there is none."""

NO_IS_NONE = ("hostNetwork", "readOnly")
"""Fields of Pods that Go leaves out where they are false."""

SHOWN = 200
"""Characters of a value that a difference shows."""


def plain(value: Any, field: str = "") -> Any:  # noqa: ANN401 any JSON
    """Return a document without what is empty, and with quantities in their canonical form."""
    if isinstance(value, dict):
        if field in QUANTITIES:
            written = {key: _quantity(item) for key, item in value.items()}
            return {
                key: item for key, item in written.items() if not (field in NEEDED and item == "0")
            }
        kept = {key: plain(item, key) for key, item in value.items()}
        return {
            key: item
            for key, item in kept.items()
            if item not in ({}, [], None, "")
            and not (key == TARGET_PORT and item == 0)
            and not (key in NO_IS_NONE and item is False)
        }
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def _quantity(value: Any) -> str:  # noqa: ANN401 any JSON
    read = parse_quantity(value)
    return str(value) if read is None else str(Quantity(read.amount))


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401 any JSON
    """Yield each place where two documents differ, as a sentence."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted({*theirs, *ours}):
            yield from differences(theirs.get(key), ours.get(key), f"{path}.{key}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif theirs != ours:
        yield f"{path}: upstream {_shown(theirs)}, here {_shown(ours)}"


def _shown(value: Any) -> str:  # noqa: ANN401 any JSON
    return "nothing" if value is None else json.dumps(value)[:SHOWN]
