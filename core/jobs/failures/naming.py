"""What users write for a failure: a cause, or a retry group, which stands for all its causes."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from jobledger.core.jobs.failures.rule import FailureRule
from jobledger.core.jobs.failures.rules import CAUSES, RULES
from jobledger.core.jobs.history.signs import Source
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import Answer, RetryRule
from jobledger.core.jobs.retries.slips import SHOWN_MAX

AT_VERDICT = frozenset(
    {
        Source.REASON,
        Source.MESSAGE,
        Source.RAY,
        Source.SUBMITTER,
        Source.POD,
        Source.EXIT,
        Source.LOSS,
    }
)
"""What is known when the retry rule judges; logs and Kubernetes Events are kept afterwards."""


class Named(NamedTuple):
    """A group, and the cause in it; empty: every cause of the group."""

    group: FailureClass
    cause: str = ""


def named(name: str) -> Named:
    """Return what a name stands for. A name that is both is the whole group's.

    Raises:
        KeyError: there is no such cause and no such group.
    """
    if name in frozenset(FailureClass):
        return Named(FailureClass(name))
    return Named(CAUSES[name].group, name)


class Subject(NamedTuple):
    """Of what a rule of a retry policy speaks."""

    group: FailureClass
    cause: str
    """Empty: of every cause of the group."""
    exit_code: int | None
    """Of the application; None: of any."""


def read_subject(what: str) -> Subject:
    """Return what the left side of a rule of a retry policy speaks of.

    Raises:
        ValueError: there is no such failure, the retry rule cannot tell it, or the exit code is
            none; the text says what to write instead.
    """
    name, colon, code = (part.strip() for part in what.partition(":"))
    if name not in frozenset(FailureClass) and name not in CAUSES:
        groups = " or ".join(FailureClass)
        wrong = f"there is no failure class {name[:SHOWN_MAX]!a}; write {groups}, or a cause of one"
        raise ValueError(wrong)
    group, cause = named(name)
    if cause and cause not in frozenset(causes_for_policies()):
        raise ValueError(f"{cause} shows only after the retry was judged; write its group, {group}")
    if not colon:
        return Subject(group, cause, None)
    if cause or group is not FailureClass.APPLICATION or not re.fullmatch(r"-?[0-9]{1,9}", code):
        raise ValueError("only application takes an exit code, as in application:3=never")
    return Subject(group, cause, int(code))


def causes_for_policies() -> Iterable[str]:
    """Yield the causes that a retry policy may name: the retry rule can tell them."""
    for rule in RULES:
        if rule.name not in frozenset(FailureClass) and is_told_at_verdict(rule):
            yield rule.name


def is_told_at_verdict(rule: FailureRule) -> bool:
    """Return whether the retry rule may know all that a cause is told by."""
    return all(AT_VERDICT.intersection(test.sources) for test in rule.tests)


def read_rule(text: str) -> RetryRule:
    """Return a rule of a retry policy as it is written: `preemption=uncounted`.

    Raises:
        ValueError: its left side names no failure, or its right side no answer; the text says what
            to write instead.
    """
    subject, _, answer = text.partition("=")
    try:
        failure, cause, exit_code = read_subject(subject)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from error
    if answer not in frozenset(Answer):
        raise ValueError(f"{text!r}: answers are {', '.join(Answer)}")
    return RetryRule(failure=failure, cause=cause, exit_code=exit_code, answer=Answer(answer))
