"""Checks whether an object already shows a status, so that the write can be skipped."""

from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.jobs.control.control_policy import forbids_start
from jobledger.core.jobs.control.status_writers import other_controller, written_here
from jobledger.core.kinds import AnyKind
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.instants import Instant

PROGRESS = frozenset({"rayClusterStatus", "jobStatus", "rayJobInfo", "message"})
"""What may change again and again while a phase lasts; nobody acts on it."""


def tells_no_more(kind: AnyKind, job: CachedJob, status: Manifest) -> bool:
    """Return whether an object shows exactly a status that the log has brought forth.

    Then nothing that it shows can be of events that the log has lost.
    """
    manifest, own = job.manifest, kind.status_format.own
    is_newest = text(manifest, "metadata", "resourceVersion") == job.version
    return is_newest and own(child(manifest, "status")) == own(status)


def shows(kind: AnyKind, job: CachedJob, status: Manifest, now: Instant) -> bool:
    """Return whether an object already shows a status: after a start most do.

    Asked of the object as the watch last told it whole; later versions are not kept. What another
    controller wrote last is written once more here, so that every later start sees who took over.
    An end may show more of its progress than a log that has lost its last events knows: what was
    written here stays, what others wrote does not.
    """
    manifest = job.manifest
    if text(manifest, "metadata", "resourceVersion") != job.version:
        return False
    fields = kind.controller
    if forbids_start(
        other_controller(fields, manifest, now),
        has_ended=fields.has_ended(manifest),
        is_named=False,
        take_over=False,
        now=now,
        ended_at=fields.ended_at(manifest),
    ):
        return False
    own = kind.status_format.own
    seen, meant = own(child(manifest, "status")), own(status)
    if fields.has_ended(manifest):
        stay = PROGRESS & written_here(manifest)
        seen = {key: value for key, value in seen.items() if key in meant or key not in stay}
    return seen == meant
