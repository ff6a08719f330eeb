"""Templates of Pods, Jobs and JobSets: many objects of a job hold the same one.

A RayJob's stand in each of its RayClusters, as they are made and as they are seen. To walk through
one takes longer than all the rest of such an object, so what was found in it is kept.
"""

from typing import Final

import msgspec

from jobledger.core.values.documents import Manifest

TEMPLATES_KEPT: Final = 256
"""So many templates are kept: those of a hundred jobs that are at work at once."""

_BYTES_MAX = 16 * 1024
"""Of longer ones nothing is kept."""


LEVELS_ABOVE: Final = 10
"""A template is walked as if so many levels were above it, so that it is the same in all objects.

None that a schema has lies deeper.
"""


def written(template: Manifest, depth: int) -> bytes | None:
    """Return a template as JSON; None where nothing of it is kept.

    That is one that is too long or too deep, or that JSON cannot hold. A number that is none (NaN),
    which no JSON that was read has, becomes null.
    """
    if depth > LEVELS_ABOVE:
        return None
    try:
        content = msgspec.json.encode(template)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return content if len(content) <= _BYTES_MAX else None
