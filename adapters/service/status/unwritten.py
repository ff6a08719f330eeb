"""Says in the service's log that a status could not be written."""

from collections.abc import Callable

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import ClusterUnreachable, ObjectChanged
from jobledger.core.jobs.identity import JobIdentity

log = get_logger(__name__)


class Unwritten:
    """Tells of each job; of an API server that is away, or of edits, once a minute for all."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._away = Repeated(log, "status_not_written", monotonic)

    def tell(self, identity: JobIdentity, error: Exception, failures: int) -> None:
        """Say that a write of a job's status failed, for the n-th time in a row."""
        job = f"{identity.namespace}/{identity.name}"
        if isinstance(error, ClusterUnreachable | ObjectChanged):
            self._away.warn_of_one(error, job=job)
        else:
            log.warning("status_not_written", job=job, error=str(error), failures=failures)
