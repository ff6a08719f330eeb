"""Reporting facts of failures: of attempts, and of jobs that failed without an attempt."""

from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.events import EvidenceCaptured
from jobledger.core.jobs.evidence.evidence import PodEvidence
from jobledger.core.jobs.evidence.pods import trouble
from jobledger.core.jobs.evidence.scene import waiting_beside
from jobledger.core.jobs.failures.diagnosis import Judged
from jobledger.core.jobs.history.report_news import (
    AttemptFailed,
    FailureJudged,
    FailureNews,
    Found,
    JobFailed,
)
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.kinds import JobState, kind_of
from jobledger.core.projections.reporting.facts import (
    MESSAGE_CHARACTERS_MAX,
    AttemptFact,
    FailureFact,
)
from jobledger.core.projections.reporting.found import may_have_run
from jobledger.core.values.instants import Instant

EXIT_CODE_MIN, EXIT_CODE_MAX = -(2**31), 2**31 - 1
"""What the column holds; the head of a user's job may say anything."""


class Causes(Protocol):
    """What sorts failures by the signs that a stream shows of them."""

    def signs(self, event: JobEvent, version: int, *, ended: bool) -> Sequence[object]:
        """Return the signs that an event shows; `ended` tells whether its attempt has failed."""

    def standing(self, signs: Sequence[object], event: JobEvent) -> Sequence[object]:
        """Return the signs of an attempt under way that an event has not ended."""

    def cause(
        self, signs: Sequence[object], *, ran: bool, judged: Judged | None
    ) -> tuple[str, FailureClass]:
        """Return the cause that the signs of one attempt speak for, and its retry group."""


class NoCauses:
    """Sorts nothing."""

    def signs(self, event: JobEvent, version: int, *, ended: bool) -> Sequence[object]:
        """Return none."""
        del event, version, ended
        return ()

    def standing(self, signs: Sequence[object], event: JobEvent) -> Sequence[object]:
        """Return all of them."""
        del event
        return signs

    def cause(
        self, signs: Sequence[object], *, ran: bool, judged: Judged | None
    ) -> tuple[str, FailureClass]:
        """Return that no more is known than the retry rule has said."""
        del signs, ran
        return "", judged.group if judged is not None else FailureClass.OTHER


def with_news(
    failures: tuple[FailureFact, ...],
    at: Instant,
    news: FailureNews,
    attempts: tuple[AttemptFact, ...],
    found: Found,
) -> tuple[FailureFact, ...]:
    """Return the failures after news that came at `at`.

    `attempts` are those after it, `found` is how the job was.
    """
    if isinstance(news, AttemptFailed):
        one = _of(attempts, news.attempt)
        ended_at = one.ended_at if one is not None and one.ended_at is not None else at
        ran = one is not None and may_have_run(one, found)
        failures = _added(failures, ended_at, news, news.attempt, ran=ran)
        # Where a grant has an event of its own, that comes later and says the same again.
        retried = bool(attempts) and attempts[-1].number == news.attempt and attempts[-1].retried
        return _last_changed(failures, news.attempt, retried=retried)
    if isinstance(news, FailureJudged):
        return _last_changed(
            failures,
            news.attempt,
            failure_class=news.failure.value,
            exit_code=_column_exit_code(news.exit_code),
            retried=news.retried,
        )
    last = attempts[-1].number if attempts else 0
    ended_in = last if news.attempt is None else news.attempt
    one = _of(attempts, ended_in)
    ran = one is not None and may_have_run(one, found)
    return _ended(failures, at, news, ended_in, ran=ran)


def _of(attempts: tuple[AttemptFact, ...], number: int) -> AttemptFact | None:
    """Return the attempt of a number, looked for from the last on; None if there is none."""
    return next((one for one in reversed(attempts) if one.number == number), None)


def _column_exit_code(code: int | None) -> int | None:
    """Return an exit code, or None if the column has no room for it; a head may say any number."""
    return code if code is not None and EXIT_CODE_MIN <= code <= EXIT_CODE_MAX else None


def found_failed(
    state: JobState, at: Instant, attempts: tuple[AttemptFact, ...]
) -> tuple[FailureFact, ...]:
    """Return the failures of a job that was found at `at`: the one that its status tells of.

    Nobody saw whether it ran, so it is not said that it did not.
    """
    phase = state.phase.value
    if phase not in {"Failed", "Retrying"}:
        return ()
    ended_at = attempts[-1].ended_at if attempts else state.ended_at
    failure = kind_of(state).log.failure_class(state.reason)
    fact = FailureFact(
        number=1,
        attempt=attempts[-1].number if attempts else 0,
        failed_at=ended_at or at,
        reason=state.reason,
        failure_class=failure.value,
        cause="",
        message=state.message[:MESSAGE_CHARACTERS_MAX],
        exit_code=None,
        ran=True,
        retried=phase == "Retrying",
        final=phase == "Failed",
    )
    return (fact,)


NOWHERE: tuple[int, str] = (0, "")


def node_after(before: tuple[int, str], event: JobEvent) -> tuple[int, str]:
    """Return the attempt of which evidence told last on which node it failed, and that node."""
    if not isinstance(event, EvidenceCaptured):
        return before
    if waiting_beside(event.occasion, event.attempt) is not None:
        return before  # where Pods waited
    node = worst_node(event.pods)
    return (event.attempt, node) if node else before


def worst_node(pods: Sequence[PodEvidence]) -> str:
    """Return the node of the Pod in the greatest trouble, else the one that all are on; or none."""
    worst = max(pods, key=trouble, default=None)
    if worst is not None and trouble(worst):
        return worst.node
    nodes = {pod.node for pod in pods}
    return nodes.pop() if len(nodes) == 1 else ""


def at_node(failures: tuple[FailureFact, ...], where: tuple[int, str]) -> tuple[FailureFact, ...]:
    """Return the failures with the node of the last one, if it is known where its attempt failed.

    What a later look at the attempt tells does not count: Pods are put in place again elsewhere.
    """
    last = failures[-1] if failures else None
    attempt, node = where
    if last is None or last.node is not None or last.attempt != attempt or not node:
        return failures
    return *failures[:-1], replace(last, node=node)


def followed(
    failures: tuple[FailureFact, ...], attempts: tuple[AttemptFact, ...]
) -> tuple[FailureFact, ...]:
    """Return the failures when another attempt begins, which may show that one was retried."""
    if len(attempts) < 2 or not attempts[-2].retried:  # noqa: PLR2004 it and the one before
        return failures
    return _last_changed(failures, attempts[-2].number, retried=True)


def _ended(
    failures: tuple[FailureFact, ...],
    at: Instant,
    news: JobFailed,
    attempt: int,
    *,
    ran: bool,
) -> tuple[FailureFact, ...]:
    """Return the failures after the job ended with one: the last, or one of its own.

    It has its own where a deadline over all attempts has ended the pause after the last.
    """
    last = failures[-1] if failures else None
    if last is None or last.attempt != attempt or (last.retried and last.reason != news.reason):
        failures = _added(failures, at, news, attempt, ran=ran)
    return _last_changed(failures, attempt, final=True)


def _added(
    failures: tuple[FailureFact, ...],
    at: Instant,
    news: AttemptFailed | JobFailed,
    attempt: int,
    *,
    ran: bool,
) -> tuple[FailureFact, ...]:
    fact = FailureFact(
        number=len(failures) + 1,
        attempt=attempt,
        failed_at=at,
        reason=news.reason,
        failure_class=FailureClass.OTHER.value,
        cause="",
        message=news.message[:MESSAGE_CHARACTERS_MAX],
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
    return *failures[:-1], replace(failures[-1], **fields)
