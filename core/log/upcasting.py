"""Upcasters: convert old versions of events to the current one.

Pure steps from one schema version to the next, never a rewritten log.

A step stands under (type, the version it starts from) and returns the payload of the next version.
There is none
yet: every type is still in its first version. `tests/frozen` holds a sample of every (type,
version) ever released.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from jobledger.core.values.documents import Manifest

Step: TypeAlias = Callable[[Manifest], Manifest]

STEPS: Mapping[tuple[str, int], Step] = {}
"""(type, schema version) -> the step to the next version."""


def upcast(
    event_type: str,
    schema_version: int,
    data: Manifest,
    steps: Mapping[tuple[str, int], Step] = STEPS,
) -> Manifest:
    """Return the payload in the newest version, by every step that leads there."""
    while (step := steps.get((event_type, schema_version))) is not None:
        data = step(data)
        schema_version += 1
    return data
