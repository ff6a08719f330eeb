"""Where a container's paths are in the sandbox: the same rewriting for the agent and for a head.

There is no mount namespace, so a volume is not at its `mountPath`. Wherever a text names such a
path (as a whole path or as the beginning of one), it is replaced by the place of the volume.
"""

from __future__ import annotations

import json
import os
import re

MOUNTS_VARIABLE = "JOBLEDGER_SANDBOX_MOUNTS"
"""Environment variable of every container: a JSON object, `mountPath` -> place in the sandbox."""


def with_places(text: str, mounts: dict[str, str]) -> str:
    """Return `text` with every mount path replaced by its place; the longest path wins."""
    paths = sorted((path for path in mounts if path.strip("/")), key=len, reverse=True)
    if not paths:
        return text
    pattern = "|".join(re.escape(path.rstrip("/")) for path in paths)
    places = {path.rstrip("/"): place for path, place in mounts.items()}
    return re.sub(
        rf"(?<![\w./-])(?:{pattern})(?![\w.-])", lambda found: places[found.group(0)], text
    )


def mounts_of_environment() -> dict[str, str]:
    """Return the mounts of the container that this process runs in."""
    try:
        found = json.loads(os.environ.get(MOUNTS_VARIABLE) or "{}")
    except ValueError:
        return {}
    return {str(path): str(place) for path, place in found.items()}
