"""Classifies failures for reports from the events alone, without reading evidence."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from jobledger.core.catalogue import JobEvent
from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.begun import attempts_begun
from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.forensics.failures.got_over import still_standing
from jobledger.core.forensics.failures.signs import Sign, signs
from jobledger.core.forensics.story.account import Account
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.failures.diagnosis import Judged, diagnose
from jobledger.core.jobs.history.attempt_facts import JobFacts
from jobledger.core.jobs.history.report_news import AttemptFailed, FailureJudged
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.kinds import ROLES, failure_news

_SILENT = shared.OWN_WORK | {shared.EffectSucceeded}
"""Frequent events that are no sign of a failure."""


class ExplainedCauses:
    """Sorts failures as `jobledger explain` does; see `core.projections.reporting.failures`."""

    def signs(self, event: JobEvent, version: int, *, ended: bool) -> Sequence[object]:
        """Return the signs that an event shows; what goes once the attempt has failed is none."""
        if type(event) in _SILENT:
            return ()
        read = ReadEvent(
            version=version, occurred_at=event.at, recorded_at=event.at, actor="", event=event
        )
        found = signs((read,), lambda _: None, {})
        return tuple(sign for sign in found if not (ended and sign.is_of_clearing))

    def standing(self, signs: Sequence[object], event: JobEvent) -> Sequence[object]:
        """Return the signs of an attempt under way that an event has not ended."""
        return still_standing(cast("Sequence[Sign]", signs), event)

    def cause(
        self, signs: Sequence[object], *, ran: bool, judged: Judged | None
    ) -> tuple[str, FailureClass]:
        """Return the cause that the signs of one attempt speak for, and its retry group."""
        rule = diagnose(cast("Sequence[Sign]", signs), ran=ran, judged=judged).rule
        return rule.name, rule.group


def counted_as(account: Account, events: Sequence[JobEvent]) -> str:
    """Return the cause that reports have for the failure that an account tells; empty: for none.

    They read no kept logs, only the last lines of these that stand in the events, so `explain` may
    know it better. What a job that goes on lacks is no failure yet.
    """
    if not account.has_ended:
        return ""
    attempts = with_causes(facts(events), events).attempts
    return next((one.cause for one in reversed(attempts) if one.cause), "")


def with_causes(job: JobFacts, events: Iterable[JobEvent]) -> JobFacts:
    """Return what a stream tells of its attempts, with the causes of those that failed."""
    causes, judged, current = ExplainedCauses(), dict[int, Judged](), 0
    found, ran, ended = defaultdict[int, list[object]](list), set[int](), set[int]()
    all_events = tuple(events)
    begun = attempts_begun(all_events)
    for version, event in enumerate(all_events, 1):
        current = begun.get(version, current)
        if isinstance(event, ROLES.attempt_ran):
            ran.add(event.attempt)
        whose = event.attempt if isinstance(event, shared.EvidenceCaptured) else current
        if current not in ended:
            found[current] = list(causes.standing(found[current], event))
        found[whose] += causes.signs(event, version, ended=whose in ended)
        news = failure_news(event)
        if isinstance(news, AttemptFailed):
            ended.add(news.attempt)
        elif isinstance(news, FailureJudged):
            judged[news.attempt] = Judged(news.failure, news.by_policy)
    attempts = []
    for one in job.attempts:
        if one.number not in ended:
            attempts.append(one)
            continue
        cause, group = causes.cause(
            found[one.number], ran=one.number in ran, judged=judged.get(one.number)
        )
        attempts.append(replace(one, cause=cause, failure=group))
    return replace(job, attempts=tuple(attempts))
