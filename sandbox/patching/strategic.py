"""How a strategic merge patch changes a built-in object: lists merge by the key of their items.

Source: Kubernetes' `patchMergeKey` tags in k8s.io/api (v0.36), of the kinds served here.
"""

from typing import Final

from jobledger.sandbox.model.documents import Document, JsonValue, copy_of

MERGE_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "conditions": "type",
    "ownerReferences": "uid",
    "addresses": "type",
    "podIPs": "ip",
    "secrets": "name",
}
"""Field name -> the key that tells its items apart; `ports` depends on what has them."""

PRIMITIVE_SETS: Final = ("finalizers",)
"""Lists of plain values that a patch adds to."""

_ORDER: Final = "$setElementOrder/"
_DROP: Final = "$deleteFromPrimitiveList/"


def strategic_patch(target: JsonValue, patch: Document) -> Document:
    """Return `target` with `patch` merged into it, lists by key; `$patch` directives are heeded."""
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: copy_of(value) for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    merged = dict(target) if isinstance(target, dict) else {}
    kept = patch.get("$retainKeys")
    if kept is not None:
        merged = {key: value for key, value in merged.items() if key in kept}
    for key, value in patch.items():
        _merge_field(merged, key, value)
    for key, order in patch.items():
        if key.startswith(_ORDER):
            _reorder(merged, key.removeprefix(_ORDER), order)
    return merged


def _merge_field(merged: Document, key: str, value: JsonValue) -> None:
    if key.startswith(_DROP):
        field = key.removeprefix(_DROP)
        merged[field] = [item for item in merged.get(field) or () if item not in value]
    elif key.startswith("$"):
        return
    elif value is None:
        merged.pop(key, None)
    elif isinstance(value, dict):
        merged[key] = strategic_patch(merged.get(key), value)
    elif isinstance(value, list):
        merged[key] = _merge_list(key, merged.get(key) or [], value)
    else:
        merged[key] = value


def merge_key(field: str, items: list[JsonValue]) -> str | None:
    """Return the key by which the items of a list field are told apart, or None."""
    if field == "ports":
        in_container = any(isinstance(item, dict) and "containerPort" in item for item in items)
        return "containerPort" if in_container else "port"
    return MERGE_KEYS.get(field)


def _merge_list(field: str, old: list[JsonValue], patch: list[JsonValue]) -> list[JsonValue]:
    if field in PRIMITIVE_SETS:
        return old + [item for item in patch if item not in old]
    key = merge_key(field, [*patch, *old])
    if key is None or not all(isinstance(item, dict) for item in patch):
        return [copy_of(item) for item in patch]
    if any(item.get("$patch") == "replace" for item in patch):
        return [copy_of(item) for item in patch if "$patch" not in item]
    merged = list(old)
    for item in patch:
        place = next((i for i, was in enumerate(merged) if was.get(key) == item.get(key)), None)
        if item.get("$patch") == "delete":
            if place is not None:
                del merged[place]
        elif place is None:
            merged.append(strategic_patch({}, item))
        else:
            merged[place] = strategic_patch(merged[place], item)
    return merged


def _reorder(merged: Document, field: str, order: list[JsonValue]) -> None:
    """Put the items that `order` names into its order; the others follow."""
    items = merged.get(field)
    if not isinstance(items, list):
        return
    key = merge_key(field, items)
    wanted = [entry.get(key) if isinstance(entry, dict) else entry for entry in order]

    def place(item: JsonValue) -> int:
        name = item.get(key) if isinstance(item, dict) else item
        return wanted.index(name) if name in wanted else len(wanted)

    merged[field] = sorted(items, key=place)
