"""The failures of a job: of its attempts, and its own where it had none."""

from collections.abc import Sequence
from typing import Protocol

from core.catalogue import JobEvent
from core.jobs.failures import FailureClass
from core.projections.reporting.facts import MESSAGE_CHARACTERS_MAX, AttemptFact, FailureFact
from core.rayjob import events as rayjob
from core.trainjob import events as trainjob


class Causes(Protocol):
    """What sorts failures by the signs that a stream shows of them."""

    def signs(self, event: JobEvent, version: int) -> Sequence[object]:
        """Return the signs that an event shows."""
        ...

    def cause(self, signs: Sequence[object], *, ran: bool) -> str:
        """Return the class that the signs of one attempt speak for."""
        ...


class NoCauses:
    """Sorts nothing."""

    def signs(self, event: JobEvent, version: int) -> Sequence[object]:
        """Return none."""
        del event, version
        return ()

    def cause(self, signs: Sequence[object], *, ran: bool) -> str:
        """Return that nothing is known."""
        del signs, ran
        return ""


def with_event(
    failures: tuple[FailureFact, ...], event: JobEvent, attempts: tuple[AttemptFact, ...]
) -> tuple[FailureFact, ...]:
    """Return the failures after an event; `attempts` are those after it."""
    if isinstance(event, rayjob.AttemptFailed):
        return _added(failures, event, event.reason, attempts, event.attempt)
    if isinstance(event, rayjob.RetryGranted | rayjob.RetryRefused):
        return _last_changed(
            failures,
            event.attempt,
            failure_class=event.failure.value,
            exit_code=event.exit_code,
            retried=isinstance(event, rayjob.RetryGranted),
        )
    if isinstance(event, trainjob.TrainAttemptEnded) and event.outcome in ("failed", "lost"):
        found = _added(failures, event, event.reason, attempts, event.attempt)
        return _last_changed(found, event.attempt, retried=attempts[-1].retried)
    if isinstance(event, rayjob.JobFailed):
        return _ended(failures, event, attempts, event.attempt)
    if isinstance(event, trainjob.TrainJobFailed):
        return _ended(failures, event, attempts, attempts[-1].number if attempts else 0)
    return failures


def _ended(
    failures: tuple[FailureFact, ...],
    event: rayjob.JobFailed | trainjob.TrainJobFailed,
    attempts: tuple[AttemptFact, ...],
    attempt: int,
) -> tuple[FailureFact, ...]:
    """Return the failures after the job ended with one: the last, or one of its own."""
    if not failures or failures[-1].attempt != attempt:
        failures = _added(failures, event, event.reason, attempts, attempt)
    return _last_changed(failures, attempt, final=True)


def _added(
    failures: tuple[FailureFact, ...],
    event: rayjob.AttemptFailed
    | trainjob.TrainAttemptEnded
    | rayjob.JobFailed
    | trainjob.TrainJobFailed,
    reason: str,
    attempts: tuple[AttemptFact, ...],
    attempt: int,
) -> tuple[FailureFact, ...]:
    ran = any(one.number == attempt and one.running_at is not None for one in attempts)
    fact = FailureFact(
        number=len(failures) + 1,
        attempt=attempt,
        failed_at=event.at,
        reason=reason,
        failure_class=FailureClass.OTHER.value,
        cause="",
        message=event.message[:MESSAGE_CHARACTERS_MAX],
        exit_code=None,
        ran=ran,
        retried=False,
        final=False,
    )
    return *failures, fact


def _last_changed(
    failures: tuple[FailureFact, ...], attempt: int, **fields: object
) -> tuple[FailureFact, ...]:
    """Return the failures with fields of the last one changed, if it is that attempt's."""
    if not failures or failures[-1].attempt != attempt:
        return failures
    return *failures[:-1], failures[-1]._replace(**fields)  # type: ignore[arg-type] # by name
