"""Reads from `managedFields` which clients have written an object's status.

Source: `metadata.managedFields`, API server field management. Each entry names a manager, an
operation (Apply or Update), a subresource, when it last changed something, and which fields.

Whoever may create or change an object can put any entry there, of any manager, date and
subresource, and take any away: the API server keeps what it is sent (tried on 1.36). Only what the
status itself holds takes a right on the subresource `status`. So an entry is a hint to a name: what
it is said to have written must be there, and differ from what this controller wrote.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain

from jobledger.core.jobs.control.controller_fields import ControllerFields
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.instants import EPOCH, Instant, later, parse_rfc3339

OUR_MANAGER = "jobledger"
"""The field manager of everything that is written here."""

BY_HAND = ("kubectl", "velero")
"""How the managers begin under which people write, and what restores a backup: no controllers."""

UNNAMED = "before-first-apply"
"""What an API server calls whoever wrote what it no longer knows the writer of, at an apply."""

AHEAD_MAX = timedelta(minutes=1)
"""How far the API server's clock may be ahead of this one; a later date names no write."""

_ENTRIES = ("metadata", "managedFields")

STATUS = "status"
"""The subresource under which controllers write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusWriter:
    """Somebody who has written fields of `status` that are still theirs."""

    manager: str
    written_at: Instant
    """When the manager last changed any of its fields; whole seconds, the API server's clock."""
    fields: frozenset[str] = frozenset()
    """Which fields of the status, as `f:name`."""


def status_writers(manifest: Manifest) -> tuple[StatusWriter, ...]:
    """Return who owns fields of the object's status, the last writer first.

    Empty if nobody does, or if the object came without its `managedFields` (watched ones do).
    """
    found = sorted(_writers(manifest), key=lambda writer: writer.written_at, reverse=True)
    return tuple(found)


def other_controller(
    fields: ControllerFields, manifest: Manifest, now: Instant
) -> StatusWriter | None:
    """Return the controller that is said to have driven the job last, if it is not this one.

    None if nobody did, if people or a restore did, or if this controller has written since. Who
    changes a field takes it from its owner, so of two in the same second the last one shows; where
    both own such fields, as after the same value was applied, the write here counts as the later.
    An entry of the future counts for nothing, nor does one over fields that the status does not
    hold.
    """
    if all(_is_no_other(text(one, "manager")) for one in items(manifest, *_ENTRIES)):
        return None  # as of most jobs, which need no closer look
    status, latest = child(manifest, "status"), later(now, AHEAD_MAX)
    shown = {f"f:{name}" for name, value in status.items() if value not in ("", None, [])}
    driving = fields.driving & shown
    drivers = [
        one for one in status_writers(manifest) if one.fields & driving and one.written_at <= latest
    ]
    ours = [one.written_at for one in drivers if one.manager == OUR_MANAGER]
    for writer in drivers:
        if _is_no_other(writer.manager):
            continue
        return writer if not ours or writer.written_at > max(ours) else None
    return None


def _is_no_other(manager: str) -> bool:
    """Return whether a field manager is this controller's, or none of a controller."""
    return manager == OUR_MANAGER or manager.startswith(BY_HAND)


def written_here(manifest: Manifest) -> frozenset[str]:
    """Return the fields of the status that this controller has written and still owns."""
    ours = (one.fields for one in status_writers(manifest) if one.manager == OUR_MANAGER)
    return frozenset(name.removeprefix("f:") for name in chain.from_iterable(ours))


def is_driven_here(fields: ControllerFields, manifest: Manifest) -> bool:
    """Return whether this controller was the last to drive the job."""
    drivers = [one for one in status_writers(manifest) if one.fields & fields.driving]
    last = max((one.written_at for one in drivers), default=EPOCH)
    return any(one.manager == OUR_MANAGER and one.written_at == last for one in drivers)


def _writers(manifest: Manifest) -> Iterator[StatusWriter]:
    for entry in items(manifest, *_ENTRIES):
        fields = child(entry, "fieldsV1")
        if text(entry, "manager") == UNNAMED:
            continue
        if "f:status" in fields and text(entry, "subresource") == STATUS:
            yield StatusWriter(
                manager=text(entry, "manager"),
                written_at=parse_rfc3339(text(entry, "time")) or EPOCH,
                fields=frozenset(child(fields, "f:status")),
            )
