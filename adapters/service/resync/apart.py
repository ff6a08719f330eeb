"""Goes through many jobs, of which a strange one must not hide the others."""

from collections.abc import Iterator
from contextlib import contextmanager

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.identity import JobIdentity

log = get_logger(__name__)


@contextmanager
def apart(identity: JobIdentity, logged: set[type[Exception]] | None = None) -> Iterator[None]:
    """Log what breaks at a job, and go on.

    Args:
        identity: of the job.
        logged: the errors that are logged already, of a way that is gone every minute: of jobs that
            break alike the first is named.
    """
    try:
        yield
    except Exception as error:
        if logged is None or type(error) not in logged:
            log.exception("job_not_looked_at", job=f"{identity.namespace}/{identity.name}")
        if logged is not None:
            logged.add(type(error))
