"""Strategic merge patch of a JobSet's specification: lists merge by the key of their items.

Source: k8s.io/apimachinery/pkg/util/strategicpatch (v0.36), with the `patchMergeKey` tags of the
JobSet and Pod types. Directives (`$patch`) cannot come in: the TrainJob's schema prunes them.
"""

from collections.abc import Mapping, Sequence

from jobledger.core.values.documents import Json, Manifest

MERGE_KEYS = {
    "replicatedJobs": "name",
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
}
"""Field -> the key by which its items are told apart. A list of any other field is replaced."""

MAPS = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "limits", "requests"})
"""Fields of free texts by free names: an empty text is a value there."""

MEANT_WHEN_EMPTY = frozenset({"serviceAccountName", "storageClassName"})
"""Texts that upstream's types tell apart from none where they are empty."""


def as_typed(value: Json, field: str = "") -> Json:
    """Return a patch as upstream reads it: what its types do not tell apart from none is left out.

    That is every empty list, map and text but for a few, and `readOnly: false`; so it changes
    nothing where it is merged, and is no change where it is all that differs.
    Source: the `omitempty` tags and pointers of Trainer v2.3's PodSpecPatch and of core/v1.
    """
    if isinstance(value, Mapping):
        inside = {
            key: item if field in MAPS else as_typed(item, key) for key, item in value.items()
        }
        return {
            key: item
            for key, item in inside.items()
            if field in MAPS or not _is_none(item, key, field)
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_typed(item) for item in value]
    return value


def _is_none(value: Json, field: str, parent: str) -> bool:
    if isinstance(value, Mapping):
        return field in MAPS and not value
    if value is False:
        return field == "readOnly" and parent != "csi"
    if isinstance(value, Sequence):
        return not value and field not in MEANT_WHEN_EMPTY
    return value is None


def strategic_merge(target: Json, patch: Manifest) -> Manifest:
    """Return `target` with `patch` merged into it; what the patch has as null goes."""
    merged: dict[str, Json] = dict(target) if isinstance(target, Mapping) else {}
    for field, value in patch.items():
        if value is None:
            merged.pop(field, None)
        elif isinstance(value, Mapping):
            merged[field] = strategic_merge(merged.get(field), value)
        elif isinstance(value, Sequence) and not isinstance(value, str) and field in MERGE_KEYS:
            merged[field] = _merged_list(merged.get(field), value, MERGE_KEYS[field])
        else:
            merged[field] = value
    return merged


def _items(value: Json) -> list[Manifest]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [item for item in value if isinstance(item, Mapping)]


def _merged_list(target: Json, patch: Json, key: str) -> Sequence[Json]:
    server, patched = _items(target), _items(patch)
    by_key = {_name(item, key): item for item in server}
    ours: list[Manifest] = []
    for item in patched:
        name = _name(item, key)
        ours.append(strategic_merge(by_key[name], item) if name in by_key else item)
    named = {_name(item, key) for item in patched}
    theirs = [item for item in server if _name(item, key) not in named]
    return _in_order(theirs, ours, [_name(item, key) for item in server], key)


def _name(item: Manifest, key: str) -> str:
    return str(item.get(key))


def _in_order(
    theirs: list[Manifest], ours: list[Manifest], server_order: list[str], key: str
) -> list[Manifest]:
    """Return both lists as one: an item of the server's goes first only if it is known to precede.

    Source: `mergeSortedSlice`; neither list changes its own order.
    """
    result: list[Manifest] = []
    left, right = list(theirs), list(ours)
    while left and right:
        one, other = _name(left[0], key), _name(right[0], key)
        known = other in server_order
        precedes = known and server_order.index(one) < server_order.index(other)
        result.append((left if precedes else right).pop(0))
    return [*result, *left, *right]
