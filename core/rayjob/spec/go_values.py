"""Reads documents as Go does: zero values for fields that are absent or of another type."""

from collections.abc import Mapping, Sequence

from jobledger.core.values.documents import OBJECT_TYPES, Json, Manifest, items, number, text

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


def is_given(document: Manifest, key: str) -> bool:
    """Return whether the field is there (null is not), whatever it holds."""
    return document.get(key) is not None


def int32(document: Json, *path: str) -> int | None:
    """Return the 32-bit number at `path`; None if it is absent or no such number."""
    found = number(document, *path)
    return found if found is not None and INT32_MIN <= found <= INT32_MAX else None


def texts(document: Manifest) -> Mapping[str, str]:
    """Return the texts of a map; what is no text is left out."""
    return {key: value for key, value in document.items() if isinstance(value, str)}


def containers(group: Json) -> Sequence[Json]:
    """Return the containers in the pod template of a head or worker group."""
    return items(group, "template", "spec", "containers")


def ray_container(group: Json) -> Json:
    """Return the container that runs Ray: the first one."""
    found = containers(group)
    return found[0] if found else None


def env_value(container: Json, name: str) -> str | None:
    """Return what an environment variable is set to (empty if from elsewhere); None if it isn't."""
    for variable in items(container, "env"):
        if isinstance(variable, OBJECT_TYPES) and variable.get("name") == name:
            return text(variable, "value")
    return None


def is_never(pod_spec: Manifest) -> bool:
    """Return whether the Pod's containers are never restarted, or nothing is said about it."""
    return text(pod_spec, "restartPolicy") in ("", "Never")
