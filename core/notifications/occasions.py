"""Tells what happened to a job at an event, and why, as far as its stream shows it by now."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace as altered

from jobledger.core.forensics.bundles.dossier import Dossier, ReadEvent
from jobledger.core.forensics.story.account import Account
from jobledger.core.forensics.story.explain import explained
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs.failures.rules import CAUSES
from jobledger.core.jobs.history.report_news import AttemptFailed
from jobledger.core.kinds import ROLES, failure_news
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.notifications.rules import Occasion
from jobledger.core.projections.reporting.dimensions import labels_of
from jobledger.core.values.excerpts import cut

TEXT_MAX = 600
"""Characters of what is told."""

_LABELS = msgspec.json.Decoder(dict[str, str])

_WORDS = (
    ("job-failed", ROLES.failed),
    ("job-complete", ROLES.completed),
    ("manifest-rejected", ROLES.manifest_rejected),
)


def occasion_of(dossier: Dossier, stored: StoredEvent) -> Occasion:
    """Return what is to be told of an event of a job.

    Of a failure the cause is told by all that is known of its attempt, also by what came later.

    Raises:
        UnknownEventType, BrokenChain: as `Dossier.read`.
    """
    known = _without_later_attempts(dossier, stored.record.version)
    events, identity = known.read(), known.identity
    read = next(one for one in events if one.version == stored.record.version)
    occasion = Occasion(
        position=stored.position,
        event_id=stored.record.event_id,
        event=stored.record.type,
        called=frozenset({stored.record.type, *_words(read)}),
        occurred_at=read.occurred_at,
        text=f"{known.kind} {identity.namespace}/{identity.name}: {in_words(read.event)}",
        stream_id=identity.stream_id,
        cluster=identity.cluster,
        kind=known.kind,
        namespace=identity.namespace,
        name=identity.name,
        uid=identity.uid,
        labels=_labels(events),
        attempt=_attempt(events, read),
    )
    occasion = _with_cause(occasion, read, *explained(known, events))
    return altered(occasion, text=cut(occasion.text, TEXT_MAX))


def _without_later_attempts(dossier: Dossier, version: int) -> Dossier:
    """Return a job as if it had gone no further than the attempt of an event."""
    kept = []
    for read, stored in zip(dossier.read(), dossier.events, strict=True):
        if read.version > version and isinstance(read.event, ROLES.attempt_started):
            break
        kept.append(stored)
    return Dossier(events=tuple(kept), evidence=dossier.evidence, origin=dossier.origin)


def _words(read: ReadEvent) -> Iterator[str]:
    for word, roles in _WORDS:
        if isinstance(read.event, roles):
            yield word
    if isinstance(failure_news(read.event), AttemptFailed):
        yield "attempt-failed"


def _with_cause(
    occasion: Occasion, read: ReadEvent, account: Account, causes: Mapping[int, str]
) -> Occasion:
    if isinstance(read.event, ROLES.completed):
        return altered(occasion, text=account.sentences[0].text)
    if isinstance(read.event, ROLES.failed):
        told = altered(occasion, text=account.sentences[0].text)
        return _because(told, account.failure_class)
    if isinstance(read.event, ROLES.manifest_rejected):
        return _because(occasion, account.failure_class)
    if isinstance(failure_news(read.event), AttemptFailed):
        return _because(occasion, causes.get(occasion.attempt, ""))
    return occasion


def _because(occasion: Occasion, cause: str) -> Occasion:
    rule = CAUSES.get(cause)
    if rule is None:
        return occasion
    return altered(occasion, cause=cause, failure_class=rule.group.value, advice=rule.advice)


def _labels(events: tuple[ReadEvent, ...]) -> Mapping[str, str]:
    """Return the labels of the object as the manifest said last."""
    for read in reversed(events):
        if isinstance(read.event, ROLES.manifest_received):
            return _LABELS.decode(labels_of(read.event.document))
    return {}


def _attempt(events: tuple[ReadEvent, ...], read: ReadEvent) -> int:
    """Return the attempt that an event is of; 0: it came before the first."""
    news = failure_news(read.event)
    if isinstance(news, AttemptFailed):
        return news.attempt
    started = (
        one.event.attempt
        for one in events
        if one.version <= read.version and isinstance(one.event, ROLES.attempt_started)
    )
    return max(started, default=0)
