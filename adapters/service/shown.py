"""Whether a job's object already shows a status, so that it need not be written."""

from adapters.service.live import LiveJob
from adapters.service.status_faces import StatusFace
from core.jobs.status_writers import other_controller
from core.jobs.whose import ended_at, forbids_start, has_ended
from core.values.documents import Manifest, child, text
from core.values.instants import Instant


def shows(face: StatusFace, job: LiveJob, status: Manifest, now: Instant) -> bool:
    """Return whether an object already shows a status: after a start most do.

    Asked of the object as the watch last told it whole; later versions are not kept. What another
    controller wrote last is written once more here, so that every later start sees who took over.
    """
    manifest = job.manifest
    if text(manifest, "metadata", "resourceVersion") != job.version:
        return False
    if forbids_start(
        other_controller(job.kind, manifest, now),
        has_ended=has_ended(job.kind, manifest),
        is_named=False,
        take_over=False,
        now=now,
        ended_at=ended_at(job.kind, manifest),
    ):
        return False
    shown = child(manifest, "status")
    return all(shown.get(name) == status.get(name) for name in face.fields)
