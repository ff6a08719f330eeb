"""Remembers for which jobs the program's log has named ignored annotations."""

from msgspec.structs import replace

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.telemetry.logging import get_logger

log = get_logger(__name__)


def tell_left_out(live: ObjectCache, job: CachedJob, problems: tuple[str, ...]) -> None:
    """Log once per job that annotations of it are left out: it may be edited many times a second.

    Each of them is an event of the ledger and a Kubernetes Event besides.
    """
    if problems and not job.is_told_left_out:
        name = f"{job.identity.namespace}/{job.identity.name}"
        log.warning("annotation_left_out", job=name, problem=problems[0], more=len(problems) - 1)
        live.put_job(replace(job, is_told_left_out=True))
