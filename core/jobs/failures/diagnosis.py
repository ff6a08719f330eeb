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

from jobledger.core.jobs.failures.rule import FailureRule
from jobledger.core.jobs.failures.rules import GENERAL, RULES
from jobledger.core.jobs.history.signs import Source
from jobledger.core.jobs.retries.failures import FailureClass


class AnySign(Protocol):
    """What a rule looks at."""

    @property
    def source(self) -> Source:
        """Return where it comes from."""
        ...

    @property
    def text(self) -> str:
        """Return what it says."""
        ...


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
    """One for each clue of the rule: the first that was found, in the order of events. Empty where
    nothing says more than the retry group."""


@lru_cache(maxsize=512)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of a rule, which is blind to case."""
    return re.compile(pattern, re.IGNORECASE)


def diagnose(
    found: Sequence[SignT],
    *,
    ran: bool,
    judged: Judged | None = None,
    rules: Iterable[FailureRule] = RULES,
) -> Diagnosis[SignT]:
    """Return the cause that the signs of one attempt speak for.

    Args:
        found: the signs in the order of their events, without losses after the failure.
        ran: whether the attempt got to run.
        judged: what the retry rule took it for; None where it was not asked.
        rules: the most certain first.
    """
    groups = _possible(judged)
    is_certain = judged is not None and len(groups) == 1
    for rule in rules:
        if rule.group not in groups or (rule.before_running and ran and not is_certain):
            continue
        if signs := _matched(rule, found):
            return Diagnosis(rule=rule, signs=signs)
    return Diagnosis(rule=GENERAL[judged.group if judged else FailureClass.OTHER], signs=())


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


def _matched(rule: FailureRule, found: Sequence[SignT]) -> tuple[SignT, ...]:
    """Return a sign for each clue of a rule; nothing if one has none."""
    matched = []
    for test in rule.tests:
        pattern = compiled(test.pattern)
        sign = next(
            (one for one in found if one.source in test.sources and pattern.search(one.text)), None
        )
        if sign is None:
            return ()
        matched.append(sign)
    return tuple(matched)
