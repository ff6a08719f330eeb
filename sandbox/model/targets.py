"""Which object or collection a request's address means."""

from dataclasses import dataclass
from typing import Final

from jobledger.sandbox.model.kinds import Kind, Kinds

_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")
_LONGEST: Final = 3
"""plural, name, subresource"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A collection (no name), an object, or a subresource of one."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def target_of(path: str, kinds: Kinds) -> Target | None:
    """Return what `/api/v1/…` or `/apis/GROUP/VERSION/…` means, or None if nothing is served."""
    steps = path.strip("/").split("/")
    if steps[0] == "api":
        group, (version, *rest) = "", [*steps[1:2], *steps[2:]] or [""]
    elif steps[0] == "apis" and len(steps) > _LONGEST:
        group, version, *rest = steps[1:]
    else:
        return None
    namespace = ""
    inside = len(rest) >= _LONGEST and rest[0] == "namespaces"
    if inside and (len(rest) > _LONGEST or rest[2] not in _NAMESPACE_SUBRESOURCES):
        namespace, rest = rest[1], rest[2:]
    if not rest or len(rest) > _LONGEST:
        return None
    plural, name, subresource = [*rest, "", ""][:_LONGEST]
    kind = kinds.find(group, version, plural)
    if kind is None or (namespace and not kind.namespaced):
        return None
    if subresource and subresource not in subresources(kind):
        return None
    if name and kind.namespaced and not namespace:
        return None
    return Target(kind=kind, namespace=namespace, name=name, subresource=subresource)


def subresources(kind: Kind) -> tuple[str, ...]:
    """Return the subresources a kind has."""
    return (("status",) if kind.has_status else ()) + kind.extra_subresources
