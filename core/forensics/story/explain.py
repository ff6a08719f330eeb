"""Explains why a job ended, or what it waits for. Every sentence cites its events.

Nothing is said that no event says. Which cause a failure has is told by rules that are data
(`core.jobs.failures.rules`); where none fits, that is said as well.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from jobledger.core.forensics.begun import attempts_begun
from jobledger.core.forensics.bundles.dossier import Dossier, ReadEvent
from jobledger.core.forensics.failures.got_over import got_over
from jobledger.core.forensics.failures.signs import Sign, signs
from jobledger.core.forensics.story.account import Account, Sentence, without_vain_advice
from jobledger.core.forensics.story.circumstances import circumstances
from jobledger.core.forensics.story.ended import ended_at, found_ended
from jobledger.core.forensics.story.going_on import (
    left_undone,
    pods_failed,
    pods_waiting,
    refusals_got_over,
    rejection,
    standing_now,
    stood_when_deleted,
    unshown,
    waited_for,
    waited_for_and_seen,
)
from jobledger.core.forensics.story.kept import not_known
from jobledger.core.forensics.story.quotes import (
    Quote,
    digest_of,
    digests_of,
    how_it_ends,
    in_short,
    log_ends,
    loss_words,
    most_telling,
    quoted,
)
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.failures.diagnosis import Diagnosis, Judged, diagnose
from jobledger.core.jobs.history.event_roles import EndEvent
from jobledger.core.jobs.history.report_news import AttemptFailed, FailureJudged
from jobledger.core.jobs.history.signs import Source
from jobledger.core.kinds import (
    KINDS,
    ROLES,
    attempt_end_words,
    completion_words,
    failure_news,
    retry_words,
    standing,
)
from jobledger.core.values.counted import counted
from jobledger.core.values.durations import span
from jobledger.core.values.instants import Instant, rfc3339
from jobledger.core.values.visible_text import one_line


def explain(dossier: Dossier) -> Account:
    """Return the account of a job. Raises as `Dossier.read` does."""
    return _Account(dossier, dossier.read()).shown()


def causes(dossier: Dossier) -> Mapping[int, str]:
    """Return the class of each attempt that failed. Raises as `Dossier.read` does."""
    return _Account(dossier, dossier.read()).causes()


def explained(dossier: Dossier, events: tuple[ReadEvent, ...]) -> tuple[Account, Mapping[int, str]]:
    """Return what `explain` and `causes` do; `events` are what the dossier was read as."""
    account = _Account(dossier, events)
    return account.shown(), account.causes()


_ENDS = (*ROLES.completed, *ROLES.failed)


class _Account:
    """An account in the making."""

    def __init__(self, dossier: Dossier, events: tuple[ReadEvent, ...]) -> None:
        identity = dossier.identity_if_whole
        self._name = f"{dossier.kind} {identity.namespace}/{identity.name}"
        self._events = events
        self._pods_stay = KINDS[dossier.kind].evidence.pods_stay
        self._begun = attempts_begun([read.event for read in events])
        self._signs = tuple(signs(events, dossier.evidence, self._begun))
        self._last_attempt = max(self._begun.values(), default=0)
        self._ran: set[int] = set()
        self._judged: dict[int, Judged] = {}
        self._failed_at: dict[int, int] = {}
        self._diagnosed: dict[int, Diagnosis[Sign]] = {}
        for read in events:
            if isinstance(read.event, ROLES.attempt_ran):
                self._ran.add(read.event.attempt)
            news = failure_news(read.event)
            if isinstance(news, AttemptFailed):
                self._failed_at[news.attempt] = read.version
            elif isinstance(news, FailureJudged):
                self._judged[news.attempt] = Judged(news.failure, news.by_policy)

    def shown(self) -> Account:
        """Return the whole account, each sentence in one visible line."""
        told = self._told()
        first, *others = *told.sentences[:1], *unshown(self._events), *told.sentences[1:]
        left = left_undone(self._events) if told.has_ended else ()
        lines = tuple(replace(one, text=one_line(one.text)) for one in (first, *left, *others))
        logs = self._logs() if told.failure_class or told.outcome == "deleted" else ()
        return without_vain_advice(replace(told, sentences=lines, logs=logs))

    def _told(self) -> Account:
        end = self._last(_ENDS)
        rejected = self._rejected()
        if end is not None and isinstance(end.event, ROLES.failed):
            return self._failed(end)
        if end is not None:
            return self._completed(end)
        if (found := found_ended(self._name, self._events)) is not None:
            return found
        gone = self._last(ROLES.deleted)
        if gone is not None:
            return self._deleted(gone, rejected)
        return self._not_valid(rejected) if rejected is not None else self._going_on()

    def causes(self) -> Mapping[int, str]:
        """Return the class of each attempt that failed."""
        return {attempt: self._diagnosis(attempt).rule.name for attempt in self._failed_at}

    def _logs(self) -> tuple[str, ...]:
        """Return the digests of the logs of the last attempt, or the last that failed."""
        attempt = self._failed_before() or self._last_attempt
        ends = log_ends(self._events, self._signs, attempt)
        first = most_telling(ends, self._diagnosis(attempt).signs)
        return tuple(end.digest for end in sorted(ends, key=lambda end: end is not first))

    def _failed(self, end: ReadEvent) -> Account:
        diagnosis = self._diagnosis(self._last_attempt)
        rule = diagnosis.rule
        number = self._last_attempt
        attempts = f" after {counted(number, 'attempt')}" if number else ""
        quote = self._quote(diagnosis)
        signs = {sign.version for sign in diagnosis.signs}
        shown = {quote.version} if quote is not None else set()
        said = f": {quote.text.rstrip('.: ')}" if quote is not None else ""
        text = f"{self._name} failed at {ended_at(end)}{attempts}, because {rule.because}{said}."
        first = Sentence(
            text=text,
            versions=(*sorted((signs | shown) - {end.version}), end.version),
            evidence=tuple(sorted({*digests_of(diagnosis.signs), *digest_of(quote)})),
        )
        return Account(
            outcome="failed",
            failure_class=rule.name,
            failure_group=rule.group.value,
            advice=rule.advice,
            sentences=(
                first,
                *self._first_sign(diagnosis),
                *self._attempts(),
                *self._verdict(),
                *self._others(),
                *self._not_known(self._last_attempt),
            ),
        )

    def _completed(self, end: ReadEvent) -> Account:
        how = completion_words(end.event)
        again = "" if self._last_attempt <= 1 else f" on attempt {self._last_attempt}"
        first = Sentence(
            text=f"{self._name} {how} {ended_at(end)}{again}.", versions=(end.version,)
        )
        failed = self._failed_before()
        diagnosis = self._diagnosis(failed) if failed else None
        return Account(
            outcome="complete",
            failure_class=diagnosis.rule.name if diagnosis is not None else "",
            failure_group=diagnosis.rule.group.value if diagnosis is not None else "",
            advice=diagnosis.rule.advice if diagnosis is not None else "",
            sentences=(first, *self._attempts(), *self._verdict(), *self._others()),
        )

    def _failed_before(self) -> int:
        """Return the last attempt that failed, 0 if none did."""
        return max(self._failed_at, default=0)

    def _not_valid(self, rejected: ReadEvent) -> Account:
        diagnosis = diagnose(
            [sign for sign in self._signs if sign.version == rejected.version], ran=False
        )
        return Account(
            outcome="not valid",
            failure_class=diagnosis.rule.name,
            failure_group=diagnosis.rule.group.value,
            advice=diagnosis.rule.advice,
            sentences=(rejection(f"{self._name} is not valid", rejected), *self._attempts()),
        )

    def _deleted(self, gone: ReadEvent, rejected: ReadEvent | None) -> Account:
        ends = log_ends(self._events, self._signs, self._last_attempt)
        kept, _ = pods_waiting(self._events, self._last_attempt)
        return Account(
            outcome="deleted",
            failure_class="",
            failure_group="",
            advice="",
            sentences=(
                stood_when_deleted(self._name, self._events, gone),
                *([rejection("Its manifest was not valid", rejected)] if rejected else ()),
                *self._waited(kept, "waited"),
                *how_it_ends(most_telling(ends, ())),
                *self._attempts(),
                *self._not_known(self._last_attempt),
            ),
        )

    def _going_on(self) -> Account:
        waits, seen = waited_for_and_seen(self._events, self._begun)
        kept, got_over = pods_waiting(self._events, self._last_attempt)
        got_over |= refusals_got_over(self._events)
        stuck = [
            sign
            for sign in self._signs
            if sign.attempt == self._last_attempt and sign.version not in got_over
        ]
        diagnosis = diagnose(stuck, ran=self._last_attempt in self._ran)
        is_told = bool(diagnosis.signs and waits)
        if not is_told and self._last_attempt not in self._ran:
            diagnosis = diagnose(self._lacking(seen), ran=False)
            is_told = bool(diagnosis.signs)
        if kept:
            of_pods = diagnose([sign for sign in stuck if sign.version == kept], ran=False)
            if of_pods.signs or not is_told:
                diagnosis, is_told = of_pods, bool(of_pods.signs)
        waited = tuple(self._waited(kept, "waits"))
        told = diagnosis.rule if is_told else None
        ends = log_ends(self._events, self._signs, self._last_attempt)
        return Account(
            outcome="going on",
            failure_class=told.name if told is not None else "",
            failure_group=told.group.value if told is not None else "",
            advice=told.advice if told is not None else "",
            sentences=(
                standing_now(self._name, self._events),
                *waited,
                *waits,
                *seen,
                *(self._first_sign(diagnosis, quotes=True) if told and not waited else ()),
                *pods_failed(self._events, self._last_attempt, ends),
                *self._attempts(),
                *self._verdict(),
                *self._others(),
                *self._not_known(self._last_attempt),
            ),
        )

    def _waited(self, kept: int, verb: str) -> Iterator[Sentence]:
        """Yield which Pod is or was waited for, as the event says that tells of Pods in trouble."""
        of_pods = diagnose([sign for sign in self._signs if sign.version == kept], ran=False)
        told = waited_for(self._events[kept - 1], self._quote(of_pods), verb) if kept else None
        yield from () if told is None else (told,)

    def _lacking(self, seen: Iterable[Sentence]) -> list[Sign]:
        """Return what the objects of an attempt lack that has not begun to run, as seen last."""
        words = (
            (one.versions[0], in_words(self._events[one.versions[0] - 1].event)) for one in seen
        )
        return [
            Sign(
                version=version,
                attempt=self._last_attempt,
                source=Source.POD,
                text=said.partition(": ")[2],
            )
            for version, said in words
        ]

    def _diagnosis(self, attempt: int) -> Diagnosis[Sign]:
        if attempt not in self._diagnosed:
            self._diagnosed[attempt] = self._looked_for(attempt)
        return self._diagnosed[attempt]

    def _looked_for(self, attempt: int) -> Diagnosis[Sign]:
        failed = self._failed_at.get(attempt)
        of_attempt = [
            sign
            for sign in self._without_old(failed)
            if (sign.attempt == 0 or sign.attempt >= attempt) and not _is_later(sign, failed)
        ]
        return diagnose(of_attempt, ran=attempt in self._ran, judged=self._judged.get(attempt))

    def _without_old(self, failed: int | None) -> Sequence[Sign]:
        """Return the signs without those that had been got over when an attempt failed."""
        over = got_over(self._events, self._signs, failed) if failed is not None else ()
        return [sign for sign in self._signs if sign.version not in over]

    def _quote(self, diagnosis: Diagnosis[Sign]) -> Quote | None:
        """Return what is quoted of the signs of a failure; None where its class says it all."""
        if not diagnosis.signs:
            return None
        ends = log_ends(self._events, self._signs, diagnosis.signs[0].attempt)
        said = self._without_old(self._failed_at.get(diagnosis.signs[0].attempt))
        return quoted(diagnosis.rule, diagnosis.signs, said, ends)

    def _first_sign(
        self, diagnosis: Diagnosis[Sign], *, quotes: bool = False
    ) -> Iterator[Sentence]:
        """Yield when the first sign came and where, and how the most telling log ends.

        `quotes` tells whether what it says stands there as well.
        """
        if not diagnosis.signs:
            return
        sign = min(diagnosis.signs, key=lambda one: (self._came_at(one), one.version))
        quote = self._quote(diagnosis)
        if quote is None:
            said = f": {loss_words(sign)}" if sign.source is Source.LOSS else ""
            version, whose, digests = sign.version, "", digests_of((sign,))
            came_at = sign.came_at
        else:
            said = f": {quote.text.rstrip('.: ')}" if quotes else ""
            version, whose, digests = quote.version, quote.where, digest_of(quote)
            came_at = quote.came_at
        where = f" ({whose})" if whose else ""
        seen = replace(sign, version=version, came_at=came_at)
        text = f"The first sign was at {rfc3339(self._came_at(seen))}{where}{said}."
        yield Sentence(text=text, versions=(version,), evidence=digests)
        ends = log_ends(self._events, self._signs, sign.attempt)
        end = most_telling(ends, diagnosis.signs)
        yield from how_it_ends(end, quote.text if quote is not None else "")

    def _attempts(self) -> Iterator[Sentence]:
        began: ReadEvent | None = None
        for read in self._events:
            event = read.event
            if read.version in self._begun:
                began = read
            elif began is not None and isinstance(event, ROLES.attempt_ended):
                how = attempt_end_words(event)
                took = span((read.occurred_at - began.occurred_at).total_seconds())
                after = f" after {took}" if isinstance(began.event, ROLES.attempt_started) else ""
                yield Sentence(
                    text=f"Attempt {event.attempt} {how}{after}{_why(event)}.",
                    versions=(began.version, read.version),
                )
            elif began is not None and isinstance(event, ROLES.attempt_suspended):
                yield Sentence(
                    text=f"Attempt {event.attempt} was suspended at {_at(read)}.",
                    versions=(began.version, read.version),
                )

    def _verdict(self) -> Iterator[Sentence]:
        for read in self._events:
            if text := retry_words(read.event):
                yield Sentence(text=text, versions=(read.version,))

    def _others(self) -> Iterator[Sentence]:
        for text, version in (
            *standing([(read.version, read.event) for read in self._events]),
            *circumstances(self._events),
        ):
            yield Sentence(text=text, versions=(version,))

    def _not_known(self, attempt: int) -> Iterator[Sentence]:
        """Yield what could not be seen during the last attempt, and what evidence is missing."""
        return not_known(self._events, self._begun, attempt, pods_stay=self._pods_stay)

    def _rejected(self) -> ReadEvent | None:
        last = self._last((*ROLES.manifest_rejected, *ROLES.manifest_accepted))
        is_rejected = last is not None and isinstance(last.event, ROLES.manifest_rejected)
        return last if is_rejected else None

    def _last(self, kinds: tuple[type, ...]) -> ReadEvent | None:
        found = (read for read in reversed(self._events) if isinstance(read.event, kinds))
        return next(found, None)

    def _came_at(self, sign: Sign) -> Instant:
        """Return when a sign came about: what was captured of a failure is no younger than that."""
        read = self._events[sign.version - 1]
        known = [read.occurred_at] if sign.came_at is None else [read.occurred_at, sign.came_at]
        failed = self._failed_at.get(sign.attempt)
        if failed is not None and isinstance(read.event, shared.EvidenceCaptured):
            known.append(self._events[failed - 1].occurred_at)
        return min(known)


def _is_later(sign: Sign, failed: int | None) -> bool:
    """Return whether a sign is of how an attempt was cleared up after it had failed."""
    return failed is not None and sign.version > failed and sign.is_of_clearing


def _why(event: EndEvent) -> str:
    said = f" ({in_short(event.message)})" if event.message else ""
    return f": {event.reason}{said}" if event.reason else ""


def _at(read: ReadEvent) -> str:
    return rfc3339(read.occurred_at)
