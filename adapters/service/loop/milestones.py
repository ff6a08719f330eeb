"""Logs the turns of a job's life for whoever follows the service's own lines."""

from collections.abc import Iterable

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.events import LedgerBehindFound
from jobledger.core.kinds import ROLES
from jobledger.core.values.excerpts import gist

log = get_logger(__name__)

MESSAGE_MAX = 300
"""Characters of a message in a line."""


_LOGGED = frozenset(
    (
        *(*ROLES.attempt_started, *ROLES.attempt_failed, *ROLES.failed, *ROLES.completed),
        *(*ROLES.manifest_rejected, *ROLES.deleted, LedgerBehindFound),
    )
)


def log_milestones(job: str, events: Iterable[JobEvent]) -> None:
    """Log what of these events ends or begins something; `job` is kind, namespace and name."""
    for event in events:
        if type(event) not in _LOGGED:  # most; to ask for class after class takes longer
            continue
        if isinstance(event, ROLES.attempt_started):
            log.info("attempt_started", job=job, attempt=event.attempt)
        elif isinstance(event, ROLES.failed):
            log.warning("job_failed", job=job, **_why(event))
        elif isinstance(event, ROLES.attempt_failed):
            log.warning("attempt_failed", job=job, attempt=event.attempt, **_why(event))
        elif isinstance(event, ROLES.completed):
            log.info("job_complete", job=job)
        elif isinstance(event, ROLES.manifest_rejected):
            log.warning("job_not_valid", job=job, because=gist(event.message, MESSAGE_MAX))
        elif isinstance(event, ROLES.deleted):
            log.info("job_deleted", job=job)
        elif isinstance(event, LedgerBehindFound):
            log.warning("job_held", job=job, because=gist("; ".join(event.signs), MESSAGE_MAX))


def _why(event: object) -> dict[str, str]:
    reason, message = getattr(event, "reason", ""), getattr(event, "message", "")
    return {"reason": reason, **({"because": gist(message, MESSAGE_MAX)} if message else {})}
