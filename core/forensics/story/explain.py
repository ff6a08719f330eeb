"""Explains why a job ended, or what it waits for. Every sentence cites its events.

Nothing is said that no event says. Which class a failure is of is told by rules that are data
(`core.forensics.failures.rules`); where none fits, that is said as well.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from jobledger.core.forensics.bundles.dossier import Dossier, ReadEvent
from jobledger.core.forensics.failures.rule import FailureRule
from jobledger.core.forensics.failures.rules import RULES, UNEXPLAINED
from jobledger.core.forensics.failures.signs import Sign, signs
from jobledger.core.forensics.story.recorded_words import others_told
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.history.event_roles import EndEvent
from jobledger.core.kinds import ROLES, attempt_end_words, completion_words, retry_words, standing
from jobledger.core.values.instants import Instant, rfc3339
from jobledger.core.values.visible_text import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One statement, and what it rests on."""

    text: str
    versions: tuple[int, ...]
    """The events that say so; never empty."""
    evidence: tuple[str, ...] = ()
    """Digests of the evidence that says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A causal account of a job."""

    outcome: str
    """complete, failed, not valid, deleted, or going on."""
    failure_class: str
    """Class of the failure that it rests on; empty where nothing failed."""
    advice: str
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What an attempt failed of, and by which signs."""

    rule: FailureRule
    signs: tuple[Sign, ...]
    """One for each clue of the rule: the first that was found, in the order of events."""


@lru_cache(maxsize=512)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


def diagnose(
    found: Sequence[Sign], *, ran: bool, rules: Iterable[FailureRule] = RULES
) -> Diagnosis:
    """Return what the signs of one attempt say; `ran` tells whether it got to run."""
    for rule in rules:
        if rule.before_running and ran:
            continue
        matched = []
        for test in rule.tests:
            pattern = _pattern(test.pattern)
            sign = next(
                (one for one in found if one.source in test.sources and pattern.search(one.text)),
                None,
            )
            if sign is None:
                break
            matched.append(sign)
        else:
            return Diagnosis(rule=rule, signs=tuple(matched))
    return Diagnosis(rule=UNEXPLAINED, signs=())


def explain(dossier: Dossier) -> Account:
    """Return the account of a job. Raises as `Dossier.read` does."""
    events = dossier.read()
    told = _Account(dossier, events, tuple(signs(events, dossier.evidence))).told()
    shown = tuple(replace(one, text=one_line(one.text)) for one in told.sentences)
    return replace(told, sentences=shown)


_ENDS = (*ROLES.completed, *ROLES.failed)


class _Account:
    """An account in the making."""

    def __init__(
        self, dossier: Dossier, events: tuple[ReadEvent, ...], found: tuple[Sign, ...]
    ) -> None:
        identity = dossier.identity
        self._name = f"{dossier.kind} {identity.namespace}/{identity.name}"
        self._events = events
        self._signs = found
        self._last_attempt = 0
        self._ran: set[int] = set()
        for read in events:
            if isinstance(read.event, ROLES.attempt_started):
                self._last_attempt = read.event.attempt
            if isinstance(read.event, ROLES.attempt_ran):
                self._ran.add(read.event.attempt)

    def told(self) -> Account:
        """Return the whole account."""
        end = self._last(_ENDS)
        rejected = self._rejected()
        if end is not None and isinstance(end.event, ROLES.failed):
            return self._failed(end)
        if end is not None:
            return self._completed(end)
        if rejected is not None:
            return self._not_valid(rejected)
        gone = self._last(ROLES.deleted)
        return self._deleted(gone) if gone is not None else self._going_on()

    def _failed(self, end: ReadEvent) -> Account:
        diagnosis = self._diagnosis(self._last_attempt)
        rule = diagnosis.rule
        versions = tuple(sorted({sign.version for sign in diagnosis.signs}))
        attempts = f"{self._last_attempt} attempts" if self._last_attempt != 1 else "1 attempt"
        first = Sentence(
            text=f"{self._name} failed at {_at(end)} after {attempts}, because {rule.because}.",
            versions=(*versions, end.version),
            evidence=_digests(diagnosis.signs),
        )
        return Account(
            outcome="failed",
            failure_class=rule.name,
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
            text=f"{self._name} {how} since {_at(end)}{again}.", versions=(end.version,)
        )
        failed = self._failed_before()
        diagnosis = self._diagnosis(failed) if failed else None
        return Account(
            outcome="complete",
            failure_class=diagnosis.rule.name if diagnosis is not None else "",
            advice=diagnosis.rule.advice if diagnosis is not None else "",
            sentences=(first, *self._attempts(), *self._verdict(), *self._others()),
        )

    def _failed_before(self) -> int:
        """Return the last attempt that failed, 0 if none did."""
        last = self._last(ROLES.attempt_failed)
        return getattr(last.event, "attempt", 0) if last is not None else 0

    def _not_valid(self, rejected: ReadEvent) -> Account:
        assert isinstance(rejected.event, ROLES.manifest_rejected)
        diagnosis = diagnose(
            [sign for sign in self._signs if sign.version == rejected.version], ran=False
        )
        text = f"{self._name} is not valid since {_at(rejected)}: {_cut(rejected.event.message)}."
        return Account(
            outcome="not valid",
            failure_class=diagnosis.rule.name,
            advice=diagnosis.rule.advice,
            sentences=(
                Sentence(text=text, versions=(rejected.version,)),
                *self._attempts(),
            ),
        )

    def _deleted(self, gone: ReadEvent) -> Account:
        text = f"{self._name} was deleted at {_at(gone)}, before it had ended."
        return Account(
            outcome="deleted",
            failure_class="",
            advice="",
            sentences=(Sentence(text=text, versions=(gone.version,)), *self._attempts()),
        )

    def _going_on(self) -> Account:
        last = self._events[-1]
        waits = tuple(self._waits_for())
        text = f"{self._name} has not ended; its last event is of {_at(last)}."
        stuck = [sign for sign in self._signs if sign.attempt == self._last_attempt]
        diagnosis = diagnose(stuck, ran=self._last_attempt in self._ran)
        told = diagnosis.rule if diagnosis.signs and waits else None
        return Account(
            outcome="going on",
            failure_class=told.name if told is not None else "",
            advice=told.advice if told is not None else "",
            sentences=(
                Sentence(text=text, versions=(last.version,)),
                *waits,
                *(self._first_sign(diagnosis) if told is not None else ()),
                *self._attempts(),
                *self._verdict(),
                *self._others(),
                *self._not_known(self._last_attempt),
            ),
        )

    def _waits_for(self) -> Iterator[Sentence]:
        """Yield what is under way or due: effects and decisions that have not ended."""
        open_effects: dict[object, ReadEvent] = {}
        troubles: dict[object, ReadEvent] = {}
        pending: dict[object, ReadEvent] = {}
        for read in self._events:
            event = read.event
            if isinstance(event, shared.EffectRequested):
                open_effects[event.effect_id] = read
            elif isinstance(event, shared.EffectFaltered):
                troubles[event.effect_id] = read
            elif isinstance(
                event, shared.EffectSucceeded | shared.EffectFailed | shared.EffectSuperseded
            ):
                open_effects.pop(event.effect_id, None)
            elif isinstance(event, shared.DecisionScheduled):
                pending[event.decision_id] = read
            elif isinstance(event, shared.DecisionFired | shared.DecisionCancelled):
                pending.pop(event.decision_id, None)
        for effect, read in open_effects.items():
            trouble = troubles.get(effect)
            versions = (read.version,) if trouble is None else (read.version, trouble.version)
            said = in_words((trouble or read).event)
            yield Sentence(text=f"It waits for an effect: {said}.", versions=versions)
        for read in pending.values():
            yield Sentence(text=f"It waits: {in_words(read.event)}.", versions=(read.version,))
        built = self._last((*ROLES.built, *ROLES.build_failed))
        if (
            built is not None
            and isinstance(built.event, ROLES.build_failed)
            and not built.event.may_pass
        ):
            text = f"It waits for a change of its manifest or its runtime: {in_words(built.event)}."
            yield Sentence(text=text, versions=(built.version,))

    def _diagnosis(self, attempt: int) -> Diagnosis:
        of_attempt = [sign for sign in self._signs if sign.attempt == 0 or sign.attempt >= attempt]
        return diagnose(of_attempt, ran=attempt in self._ran)

    def _first_sign(self, diagnosis: Diagnosis) -> Iterator[Sentence]:
        if not diagnosis.signs:
            return
        sign = min(diagnosis.signs, key=lambda one: one.version)
        read = self._at_version(sign.version)
        where = "" if sign.source.value in ("reason", "loss", "decision") else f" ({sign.source})"
        yield Sentence(
            text=f"The first sign was at {_at(read)}{where}: {_cut(_sign_words(sign))}.",
            versions=(sign.version,),
            evidence=_digests((sign,)),
        )

    def _attempts(self) -> Iterator[Sentence]:
        began: ReadEvent | None = None
        for read in self._events:
            event = read.event
            if isinstance(event, ROLES.attempt_started):
                began = read
            elif began is not None and isinstance(event, ROLES.attempt_ended):
                how = attempt_end_words(event)
                span = _span((read.occurred_at - began.occurred_at).total_seconds())
                yield Sentence(
                    text=f"Attempt {event.attempt} {how} after {span}{_why(event)}.",
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
            *others_told(self._events),
        ):
            yield Sentence(text=text, versions=(version,))

    def _not_known(self, attempt: int) -> Iterator[Sentence]:
        """Yield what could not be seen during the last attempt, and what evidence is missing."""
        inside = False
        for read in self._events:
            event = read.event
            if isinstance(event, ROLES.attempt_started):
                inside = event.attempt == attempt
            if not inside:
                continue
            if isinstance(event, shared.ObservationGapFound):
                text = f"Not everything was seen: {in_words(event)}."
                yield Sentence(text=text, versions=(read.version,))
            elif isinstance(event, shared.EvidenceCaptured) and event.missing:
                lost = "; ".join(f"{item.what} ({item.why})" for item in event.missing)
                yield Sentence(
                    text=f"Some evidence could not be had: {_cut(lost)}.", versions=(read.version,)
                )

    def _rejected(self) -> ReadEvent | None:
        last = self._last((*ROLES.manifest_rejected, *ROLES.manifest_accepted))
        is_rejected = last is not None and isinstance(last.event, ROLES.manifest_rejected)
        return last if is_rejected else None

    def _last(self, kinds: tuple[type, ...]) -> ReadEvent | None:
        found = (read for read in reversed(self._events) if isinstance(read.event, kinds))
        return next(found, None)

    def _at_version(self, version: int) -> ReadEvent:
        return self._events[version - 1]


def _why(event: EndEvent) -> str:
    if not event.reason:
        return ""
    said = f": {event.reason}"
    return f"{said} ({_cut(event.message)})" if event.message else said


def _sign_words(sign: Sign) -> str:
    lost = {"cluster": "RayCluster", "head": "head Pod", "jobset": "JobSet", "ray job": "Ray job"}
    if sign.source.value == "loss":
        return f"the {lost.get(sign.text, sign.text)} was gone"
    return sign.text


def _digests(found: Iterable[Sign]) -> tuple[str, ...]:
    return tuple(sorted({sign.digest for sign in found if sign.digest}))


def _at(read: ReadEvent) -> str:
    at: Instant = read.occurred_at
    return rfc3339(at)


_MINUTE, _HOUR, _TEXT_MAX = 60, 3600, 200


def _span(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.1f} min"
    return f"{seconds / _HOUR:.1f} h"


def _cut(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _TEXT_MAX else f"{line[:_TEXT_MAX]}…"
