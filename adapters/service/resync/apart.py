"""Goes through many jobs, of which a strange one must not hide the others."""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import TypeAlias

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.identity import JobIdentity

log = get_logger(__name__)


Fault: TypeAlias = tuple[type[Exception], str, int]
"""An error, and the file and line in which it was raised."""


@contextmanager
def apart(identity: JobIdentity, logged: set[Fault] | None = None) -> Iterator[None]:
    """Log what breaks at a job, and go on.

    Args:
        identity: of the job.
        logged: the faults that are logged already, of a way that is gone every minute: of jobs that
            break alike the first is named.
    """
    try:
        yield
    except Exception as error:
        fault = _fault(error)
        if logged is None or fault not in logged:
            log.exception("job_not_looked_at", job=f"{identity.namespace}/{identity.name}")
        if logged is not None:
            logged.add(fault)


def _fault(error: Exception) -> Fault:
    *_, (frame, line) = walk_tb(error.__traceback__)
    return type(error), frame.f_code.co_filename, line
