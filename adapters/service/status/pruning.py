"""Computes the patch that removes status fields which a server-side apply leaves behind.

An apply removes only fields that we applied before. What another controller once put stays, also
inside of objects and lists of which we apply a part.
"""

from jobledger.core.values.documents import Json, Manifest


def prune_patch(shown: Manifest, wanted: Manifest) -> dict[str, Json]:
    """Return the merge patch from what is shown to what is wanted, as far as it takes away.

    What is wanted and not shown was pruned by an older definition, and is not asked for again.
    """
    patch: dict[str, Json] = {}
    for key, there in shown.items():
        if key not in wanted:
            patch[key] = None
            continue
        ours = wanted[key]
        if isinstance(there, dict) and isinstance(ours, dict):
            inner = prune_patch(there, ours)
            if inner:
                patch[key] = inner
        elif isinstance(there, list) and isinstance(ours, list) and len(there) > len(ours):
            patch[key] = ours
    return patch
