"""Finds the cause of a failure by its signs, within what the retry rule has judged.

A failure has one cause, and with it one retry group. The retry rule judges first and knows less;
what it has seen for certain stands, and what is found later makes it more exact:

* what was seen to go (a head, a RayCluster) is why the attempt failed, unless a Pod tells that
  Kubernetes took it away; what had not gone by then was not the cause;
* what was acted upon by a retry policy keeps its group.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from jobledger.core.jobs.failures.guesses import certain
from jobledger.core.jobs.failures.rule import Clue, FailureRule
from jobledger.core.jobs.failures.rules import GENERAL, RULES
from jobledger.core.jobs.history.signs import Source
from jobledger.core.jobs.retries.failures import FailureClass


class AnySign(Protocol):
    """What a rule looks at."""

    @property
    def source(self) -> Source:
        """Return where it comes from."""

    @property
    def text(self) -> str:
        """Return what it says."""


SignT = TypeVar("SignT", bound=AnySign)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the retry rule took a failure for."""

    group: FailureClass
    by_policy: bool = False
    """A retry policy was asked, so the group was acted upon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis(Generic[SignT]):
    """What an attempt failed of, and by which signs."""

    rule: FailureRule
    signs: tuple[SignT, ...]
    """One for each clue of the rule: the one that tells most, then the first by its events. Empty
    where nothing says more than the retry group."""


@lru_cache(maxsize=512)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of a rule, which is blind to case."""
    return re.compile(pattern, re.IGNORECASE)


@lru_cache(maxsize=4096)
def _finds(pattern: str, text: str) -> bool:
    """Return whether a text says what a pattern looks for; many attempts fail in the same words."""
    return compiled(pattern).search(text) is not None


def diagnose(
    found: Sequence[SignT], *, ran: bool, judged: Judged | None = None
) -> Diagnosis[SignT]:
    """Return the cause that the signs of one attempt speak for.

    Args:
        found: the signs in the order of their events, without losses after the failure.
        ran: whether the attempt got to run.
        judged: what the retry rule took it for; None where it was not asked.
    """
    groups = _possible(judged)
    is_certain = judged is not None and len(groups) == 1
    has_begun = ran and not is_certain and not _left_no_word(found)
    clear = _clear(found)
    for rule in RULES:
        if rule.group not in groups or (rule.before_running and has_begun):
            continue
        if signs := _matched(rule, clear):
            return Diagnosis(rule=rule, signs=signs)
    return Diagnosis(rule=GENERAL[judged.group if judged else FailureClass.OTHER], signs=())


def _clear(found: Iterable[SignT]) -> list[tuple[SignT, str]]:
    """Return signs with what is certain of them, the first of those that say the same alone."""
    first: dict[tuple[Source, str], SignT] = {}
    for sign in found:
        first.setdefault((sign.source, sign.text), sign)
    return [(sign, certain(sign.text)) for sign in first.values()]


_EVERY = frozenset(FailureClass)


def _possible(judged: Judged | None) -> frozenset[FailureClass]:
    """Return the groups in which the cause may be."""
    if judged is None:
        return _EVERY
    if judged.by_policy or judged.group in (FailureClass.PREEMPTION, FailureClass.IMAGE_PULL):
        return frozenset({judged.group})
    if judged.group is FailureClass.HEAD_LOST:
        return frozenset({FailureClass.HEAD_LOST, FailureClass.PREEMPTION})
    return _EVERY - {FailureClass.HEAD_LOST}


def _matched(rule: FailureRule, found: Sequence[tuple[SignT, str]]) -> tuple[SignT, ...]:
    """Return a sign for each clue of a rule; nothing if one has none."""
    matched: list[SignT] = []
    for test in rule.tests:
        if (sign := _best(test, rule, found)) is None:
            return ()
        matched.append(sign)
    return tuple(matched)


def _best(test: Clue, rule: FailureRule, found: Iterable[tuple[SignT, str]]) -> SignT | None:
    """Return the sign that a clue finds; of several the one that tells most, then the first."""
    telling = rule.telling
    best: tuple[tuple[bool, int], SignT] | None = None
    for sign, text in found:
        if sign.source not in test.sources or not _finds(test.pattern, text):
            continue
        rank = not (telling and _finds(telling, text)), test.sources.index(sign.source)
        if best is None or rank < best[0]:
            best = rank, sign
    return None if best is None else best[1]


_SPOKEN = (Source.LOG, Source.RAY, Source.EXIT)
"""What a program leaves that has begun."""


def _left_no_word(found: Iterable[AnySign]) -> bool:
    """Return whether a deadline passed and no program has left a sign of itself.

    A JobSet and a Job count as begun once they are there, whether their Pods start or not.
    """
    told = list(found)
    is_late = any(one.source is Source.REASON and one.text == "DeadlineExceeded" for one in told)
    return is_late and not any(one.source in _SPOKEN for one in told)
