"""Templates of Pods, Jobs and JobSets: many objects of a job hold the same one.

A RayJob's stand in each of its RayClusters, as they are made and as they are seen. To walk through
one takes longer than all the rest of such an object, so what was found in it is kept.
"""

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from jobledger.core.values.documents import Manifest

TEMPLATES_KEPT: Final = 128
"""So many templates are kept: those of some fifty jobs that are at work at once."""

_BYTES_MAX = 16 * 1024
"""Of longer ones nothing is kept."""

LEVELS_ABOVE: Final = 10
"""A template is walked as if so many levels were above it, so that it is the same in all objects.

None that a schema has lies deeper.
"""

Found = TypeVar("Found")


def found_in(template: Manifest, depth: int, look: Callable[[bytes], Found]) -> Found | None:
    """Return what is found in a template; None where nothing of it is kept.

    That is one that is too long or too deep, or that JSON cannot hold. A number beyond all that
    JSON has a word for (1e999) becomes null.

    Args:
        template: The template.
        depth: Levels above it.
        look: Looks through a template that is written as JSON, and keeps what it finds.
    """
    if depth > LEVELS_ABOVE:
        return None
    try:
        written = msgspec.json.encode(template)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    if len(written) > _BYTES_MAX:
        return None
    try:
        return look(written)
    except RecursionError:  # read back, it is a few calls deeper
        return None
