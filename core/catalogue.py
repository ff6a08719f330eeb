"""The registry of event types: maps each stored type name to its class, for every release.

A name is part of the storage format: a class may be renamed, its name here stays. A change of
shape that a default
cannot express raises the schema version and adds a step in `core.log.upcasting`.
"""

from collections.abc import Mapping

from jobledger.core.errors import UnknownEventType
from jobledger.core.jobs.history.shared_types import TYPES as SHARED_TYPES
from jobledger.core.kinds import KINDS
from jobledger.core.kinds import JobEvent as JobEvent  # noqa: PLC0414 asked for here as well
from jobledger.core.log.codec import decode, learn, read
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.upcasting import upcast
from jobledger.core.values.documents import read_object
from jobledger.core.values.instants import Instant

SCHEMA_VERSION = 1
"""Newest version of every type; they are all in their first."""

TYPES: Mapping[str, type[JobEvent]] = {
    **SHARED_TYPES,
    **{name: cls for kind in KINDS.values() for name, cls in kind.event_types.items()},
}
"""Stored name -> class of the newest version."""

learn(TYPES.values())

KEPT = "ClusterKept"
FATES_OF_A_CLUSTER = (KEPT, "ClusterCovered", "ClusterVanished")
"""What was said last of a job's RayCluster after the end: kept or not."""

NAMES: Mapping[type[JobEvent], str] = {cls: name for name, cls in TYPES.items()}
"""Class -> stored name."""


def read_event(record: EventRecord) -> JobEvent:
    """Return the event a record holds. Raises as `event_of` does."""
    return event_of(record.type, record.schema_version, record.payload, record.occurred_at)


def event_of(stored: str, schema_version: int, payload: bytes, at: Instant) -> JobEvent:
    """Return the event of a stored name, of a version of it, with a payload and an instant.

    Raises:
        UnknownEventType: it was written by a newer version.
        BrokenChain: its payload is not one of its type.
    """
    cls = TYPES.get(stored)
    if cls is None or schema_version > SCHEMA_VERSION:
        raise UnknownEventType(stored, schema_version)
    if schema_version == SCHEMA_VERSION:
        return read(cls, payload, at)
    return decode(cls, upcast(stored, schema_version, read_object(payload)), at)
