"""Goes through many jobs, of which a strange one must not hide the others."""

from collections.abc import Iterator
from contextlib import contextmanager

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.identity import JobIdentity

log = get_logger(__name__)


@contextmanager
def apart(identity: JobIdentity) -> Iterator[None]:
    """Log what breaks at a job, and go on."""
    try:
        yield
    except Exception:
        log.exception("job_not_looked_at", job=f"{identity.namespace}/{identity.name}")
