"""Who writes an object's status: what the API server records about its writers.

Source: `metadata.managedFields`, API server field management. Each entry names a manager, an
operation (Apply or Update), a subresource, when it last changed something, and which fields.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from core.values.documents import Manifest, child, items, text
from core.values.instants import EPOCH, Instant, parse_rfc3339


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusWriter:
    """Somebody who has written fields of `status` that are still theirs."""

    manager: str
    written_at: Instant
    """When the manager last changed any of its fields; whole seconds."""


def status_writers(manifest: Manifest) -> tuple[StatusWriter, ...]:
    """Return who owns fields of the object's status, the last writer first.

    Empty if nobody does, or if the object came without its `managedFields` (watched ones do).
    """
    found = sorted(_writers(manifest), key=lambda writer: writer.written_at, reverse=True)
    return tuple(found)


def last_status_writer(manifest: Manifest) -> str:
    """Return the manager that last wrote the object's status, or nothing if nobody has."""
    writers = status_writers(manifest)
    return writers[0].manager if writers else ""


def _writers(manifest: Manifest) -> Iterator[StatusWriter]:
    for entry in items(manifest, "metadata", "managedFields"):
        fields = child(entry, "fieldsV1")
        if "f:status" in fields:
            yield StatusWriter(
                manager=text(entry, "manager"),
                written_at=parse_rfc3339(text(entry, "time")) or EPOCH,
            )
