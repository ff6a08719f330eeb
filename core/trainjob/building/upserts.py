"""Inserts or replaces items in the lists of a container or a Pod.

Source: Trainer's apply package (UpsertEnvVars, UpsertVolumes, UpsertVolumeMounts, UpsertPort).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from jobledger.core.values.documents import Json, Manifest, text

Same = Callable[[Manifest, Manifest], bool]


def _upserted(present: Sequence[Json], new: Iterable[Manifest], same: Same) -> list[Json]:
    result = list(present)
    for item in new:
        for place, there in enumerate(result):
            if isinstance(there, Mapping) and same(there, item):
                result[place] = item
                break
        else:
            result.append(item)
    return result


def with_env(present: Sequence[Json], new: Iterable[Manifest]) -> list[Json]:
    """Return environment variables with `new` among them, by name."""
    return _upserted(present, new, lambda one, other: text(one, "name") == text(other, "name"))


def with_volumes(present: Sequence[Json], new: Iterable[Manifest]) -> list[Json]:
    """Return volumes with `new` among them, by name."""
    return with_env(present, new)


def with_mounts(present: Sequence[Json], new: Iterable[Manifest]) -> list[Json]:
    """Return volume mounts with `new` among them, by the path they are mounted at."""

    def same(one: Manifest, other: Manifest) -> bool:
        return text(one, "mountPath") == text(other, "mountPath")

    return _upserted(present, new, same)


def with_ports(present: Sequence[Json], new: Iterable[Manifest]) -> list[Json]:
    """Return ports with `new` among them.

    Ports are the same if they have the same number or the same name, and two without a name have
    the same: so a new one without a name takes the place of the first without. As upstream.
    """

    def same(one: Manifest, other: Manifest) -> bool:
        same_number = one.get("containerPort") == other.get("containerPort")
        return same_number or text(one, "name") == text(other, "name")

    return _upserted(present, new, same)
