"""Says in the service's log, and in that of a job, that a status could not be written."""

from dataclasses import dataclass
from datetime import timedelta

from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import (
    ClusterUnreachable,
    JobledgerError,
    ObjectChanged,
    RequestForbidden,
    RequestThrottled,
)
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.observations import StatusNotWritten
from jobledger.core.kinds import KINDS
from jobledger.core.ports.clock import Clock
from jobledger.core.values.ids import observation_id
from jobledger.core.values.instants import Instant

TOLD_AFTER = timedelta(minutes=1)
"""A job is told of what lasts longer: most of what an API server refuses passes sooner."""

TROUBLE_CHARACTERS_MAX = 1000

OF_MANY = ClusterUnreachable, RequestThrottled, ObjectChanged
"""Errors that many jobs meet at once: one line tells of all."""

_NO_RIGHT = " cannot patch resource "
"""Stands in what is forbidden for want of a right; webhooks and policies may refuse one job alone.
Source: Kubernetes, the answers of its authorizers.
"""

log = get_logger(__name__)


@dataclass(slots=True)
class Failing:
    """Since when the writes of a job's status fail one after the other."""

    since: Instant | None = None
    is_told: bool = False
    refusals: int = 0
    """So many of them were refused to this job alone."""


class Unwritten:
    """Tells of each job; in the service's log of what many jobs meet at once, once a minute."""

    def __init__(self, clock: Clock, inbox: Inbox, live: ObjectCache) -> None:
        self._clock, self._inbox, self._live = clock, inbox, live
        self._away = Repeated(log, "status_not_written", clock.monotonic)
        self._forbidden = {
            name: Repeated(log, "status_not_written", clock.monotonic) for name in KINDS
        }
        """Of each kind of job: a right is given for one."""

    def tell(
        self, kind: str, identity: JobIdentity, error: Exception, failures: int, how: Failing
    ) -> None:
        """Say that a write of the status of a job of a kind failed, for the n-th time in a row."""
        self._tell_job(identity, error, how)
        job = f"{identity.namespace}/{identity.name}"
        if isinstance(error, OF_MANY):
            self._away.warn_of_one(error, job=job)
            return
        if isinstance(error, RequestForbidden) and _NO_RIGHT in str(error):
            self._forbidden[kind].warn_of_one(error, job=job)
            return
        how.refusals += 1
        if how.refusals.bit_count() == 1:  # once, twice, four times …: it may last for weeks
            log.warning("status_not_written", job=job, error=str(error), failures=failures)

    def _tell_job(self, identity: JobIdentity, error: Exception, how: Failing) -> None:
        """Tell the job once, if it has lasted."""
        now, job = self._clock.now(), self._live.job(identity.uid)
        how.since = how.since or now
        if how.is_told or job is None or now - how.since < TOLD_AFTER:
            return
        how.is_told, stream = True, identity.stream_id
        is_known = isinstance(error, JobledgerError)
        said = str(error) if is_known else f"an internal error ({type(error).__name__})"
        self._inbox.put(
            stream,
            StatusNotWritten(
                id=observation_id(stream, "status not written", how.since.isoformat()),
                at=now,
                since=how.since,
                trouble=job.redactor.message(said, TROUBLE_CHARACTERS_MAX),
            ),
        )
