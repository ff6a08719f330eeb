"""Checks whether an object already shows a status, so that the write can be skipped."""

from dataclasses import dataclass

from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.jobs.control.control_policy import forbids_start
from jobledger.core.jobs.control.status_writers import other_controller, written_here
from jobledger.core.kinds import AnyKind
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.instants import Instant

PROGRESS = frozenset({"rayClusterStatus", "jobStatus", "rayJobInfo", "message"})
"""What may change again and again while a phase lasts; nobody acts on it."""


@dataclass(slots=True)
class Shown:
    """What a job shows, unpacked once for all that is asked about it."""

    kind: AnyKind
    job: CachedJob
    _manifest: Manifest | None = None

    @property
    def manifest(self) -> Manifest:
        """Return its object as the watch last told it whole."""
        if self._manifest is None:
            self._manifest = self.job.manifest
        return self._manifest

    @property
    def is_newest(self) -> bool:
        """Return whether no later version of it is known."""
        return text(self.manifest, "metadata", "resourceVersion") == self.job.version

    @property
    def own(self) -> Manifest:
        """Return the status, as far as it is the controller's."""
        return self.kind.status_format.own(child(self.manifest, "status"))

    def is_just(self, status: Manifest, now: Instant) -> bool:
        """Return whether it shows exactly a status, and nobody else's: no write changes that."""
        return tells_no_more(self, status) and _is_left_to_us(self, now)


def shown_by(kind: AnyKind, job: CachedJob | None, before: Shown | None = None) -> Shown | None:
    """Return what a job shows by now, `before` if that is the same; None if it is gone."""
    if job is None:
        return None
    return before if before is not None and before.job is job else Shown(kind, job)


def _is_left_to_us(shown: Shown, now: Instant) -> bool:
    manifest, fields = shown.manifest, shown.kind.controller
    return not forbids_start(
        other_controller(fields, manifest, now),
        has_ended=fields.has_ended(manifest),
        is_named=False,
        take_over=False,
        now=now,
        ended_at=fields.ended_at(manifest),
    )


def tells_no_more(shown: Shown, status: Manifest) -> bool:
    """Return whether an object shows exactly a status that the log has brought forth.

    Then nothing that it shows can be of events that the log has lost.
    """
    return shown.is_newest and shown.own == shown.kind.status_format.own(status)


def shows(shown: Shown, status: Manifest, now: Instant) -> bool:
    """Return whether an object already shows a status: after a start most do.

    Asked of the object as the watch last told it whole; later versions are not kept. What another
    controller wrote last is written once more here, so that every later start sees who took over.
    An end may show more of its progress than a log that has lost its last events knows: what was
    written here stays, what others wrote does not.
    """
    if not shown.is_newest or not _is_left_to_us(shown, now):
        return False
    seen, meant = shown.own, shown.kind.status_format.own(status)
    if shown.kind.controller.has_ended(shown.manifest):
        stay = PROGRESS & written_here(shown.manifest)
        seen = {key: value for key, value in seen.items() if key in meant or key not in stay}
    return seen == meant
