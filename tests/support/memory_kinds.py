"""Kinds that the cluster in memory serves: our definitions, and what others make for jobs."""

from dataclasses import replace
from functools import cache
from typing import Final

from jobledger.core.ports.cluster import POD_GROUPS, RAYJOBS, VOLCANO_POD_GROUPS, Resource
from jobledger.sandbox.admission.definitions import bundled_definitions, complete, kinds_of
from jobledger.sandbox.model.documents import Document, copy_of
from jobledger.sandbox.model.kinds import Kind


def without_status_fields(kind: Kind, fields: frozenset[str]) -> Kind:
    """Return a kind whose definition does not have these fields of the status, and prunes them."""
    (defined,) = (
        one
        for one in custom_kinds()
        if (one.group, one.version, one.plural) == (kind.group, kind.version, kind.plural)
    )
    schema, status = copy_of(kind.schema), copy_of(defined.schema)["properties"]["status"]
    for field in fields:
        del status["properties"][field]
    schema["properties"]["status"] = status
    return replace(kind, schema=schema)


_ANYTHING: Final[Document] = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {
        "status": {
            "type": "object",
            "properties": {},
            "x-kubernetes-preserve-unknown-fields": True,
        }
    },
}
RAYJOB_KIND: Final = (RAYJOBS.group, RAYJOBS.version, RAYJOBS.plural)


WORKLOADS: Final = Resource("kueue.x-k8s.io", "v1beta1", "workloads", "Workload")
"""What Kueue makes for a job: the job's own, and nothing that is built here."""
_FOREIGN: Final = (VOLCANO_POD_GROUPS, POD_GROUPS, WORKLOADS)


@cache
def own_definitions() -> tuple[Document, ...]:
    found = bundled_definitions()
    for number, definition in enumerate(found):
        complete(definition)
        definition["metadata"] |= {
            "uid": f"00000000-0000-0000-0000-{number:012}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 1,
        }
    return tuple(found)


@cache
def custom_kinds() -> tuple[Kind, ...]:
    bundled = [kind for definition in own_definitions() for kind in kinds_of(definition)]
    return *bundled, *(_open_kind(resource) for resource in _FOREIGN)


@cache
def open_kinds() -> tuple[Kind, ...]:
    return tuple(replace(kind, schema=_ANYTHING) for kind in custom_kinds())


def _open_kind(resource: Resource) -> Kind:
    """Return a kind of which no definition is at hand: its specification may hold anything."""
    return Kind(
        group=resource.group,
        version=resource.version,
        plural=resource.plural,
        kind=resource.kind,
        custom=True,
        has_status=True,
        has_generation=True,
        schema=_ANYTHING,
    )
