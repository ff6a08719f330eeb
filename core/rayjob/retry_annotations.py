"""What a RayJob asks for about its retries, by annotations under our prefix.

Each annotation stands for itself: one that cannot be understood is left out, as if it were not
there, and named; it never makes the job invalid.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from core.jobs.failures import FailureClass
from core.jobs.retry_options import NOTHING_ASKED, Answer, Growth, RetryOptions, RetryRule
from core.rayjob.names import OUR_PREFIX
from core.rayjob.spec import SubmissionMode, read_spec
from core.rayjob.validation_reading import texts
from core.values.documents import Manifest, child

SECONDS_MAX = 7 * 24 * 60 * 60
"""Longest pause that can be asked for: a week."""

UNCOUNTED_MAX = 1000
"""Most retries without counting that can be asked for."""

SHOWN_MAX = 80
"""So much of an annotation is repeated when it is named."""

_SECONDS = f"a whole number of seconds from 0 to {SECONDS_MAX}"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What was read, and what could not be."""

    options: RetryOptions
    problems: tuple[str, ...] = ()
    """One per annotation that is left out: its name, its value and what to write instead."""


class _Wrong(Exception):
    """The value cannot be understood; the text says what to write instead."""


def read_retry_options(job: Manifest) -> ReadOptions:
    """Return what a RayJob's annotations ask for."""
    annotations = texts(child(job, "metadata", "annotations"))
    options, problems = NOTHING_ASKED, []
    for name, read in _READERS.items():
        key = f"{OUR_PREFIX}{name}"
        if key not in annotations:
            continue
        try:
            options = read(options, annotations[key].strip())
        except _Wrong as wrong:
            problems.append(_problem(key, annotations[key], str(wrong)))
    problems += _unknown(annotations)
    if options.rules and (why := _never_retries(job)):
        key = f"{OUR_PREFIX}retry-policy"
        problems.append(_problem(key, annotations[key], why))
        options = replace(options, rules=())
    return ReadOptions(options, tuple(problems))


def _problem(key: str, value: str, why: str) -> str:
    return f"annotation {key} is left out: {value[:SHOWN_MAX]!a}: {why}"


def _unknown(annotations: Mapping[str, str]) -> list[str]:
    """Return complaints about annotations that look as if meant for here: a slip of the pen."""
    return [
        _problem(
            key, value, f"there is no such annotation; known are {', '.join(sorted(_READERS))}"
        )
        for key, value in sorted(annotations.items())
        if key.startswith(f"{OUR_PREFIX}retry") and key.removeprefix(OUR_PREFIX) not in _READERS
    ]


def _never_retries(job: Manifest) -> str:
    """Return why no attempt of a job is ever followed by another; empty if one can be."""
    spec = read_spec(job)
    if spec.cluster_selector:
        return "a job with a clusterSelector is never retried"
    if spec.submission_mode is SubmissionMode.INTERACTIVE:
        return "a job in InteractiveMode is never retried"
    return ""


def _number(value: str, lowest: int, highest: int, wanted: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", value) or not lowest <= int(value) <= highest:
        raise _Wrong(f"write {wanted}")
    return int(value)


Choice = TypeVar("Choice", FailureClass, Answer, Growth)


def _choice(kind: type[Choice], value: str, what: str) -> Choice:
    known = {item.value: item for item in kind}
    if value not in known:
        raise _Wrong(f"there is no {what} {value[:SHOWN_MAX]!a}; write {' or '.join(known)}")
    return known[value]


def _yes(value: str) -> bool:
    if value not in ("true", "false"):
        raise _Wrong("write true or false")
    return value == "true"


def _policy(options: RetryOptions, value: str) -> RetryOptions:
    rules: list[RetryRule] = []
    for entry in (part.strip() for part in value.split(",")):
        rule = _rule(entry)
        if any((rule.failure, rule.exit_code) == (it.failure, it.exit_code) for it in rules):
            raise _Wrong(f"{entry[:SHOWN_MAX]!a} says something that was said before")
        rules.append(rule)
    return replace(options, rules=tuple(rules))


def _rule(entry: str) -> RetryRule:
    what, equals, answer = (part.strip() for part in entry.partition("="))
    if not equals:
        raise _Wrong("write class=answer, parted by commas, as in preemption=uncounted")
    name, colon, code = (part.strip() for part in what.partition(":"))
    failure = _choice(FailureClass, name, "failure class")
    exit_code = None
    if colon:
        if failure is not FailureClass.APPLICATION or not re.fullmatch(r"-?[0-9]{1,9}", code):
            raise _Wrong("only application takes an exit code, as in application:3=never")
        exit_code = int(code)
    return RetryRule(failure=failure, answer=_choice(Answer, answer, "answer"), exit_code=exit_code)


def _uncounted(options: RetryOptions, value: str) -> RetryOptions:
    wanted = f"a whole number from 0 to {UNCOUNTED_MAX}"
    return replace(options, uncounted_max=_number(value, 0, UNCOUNTED_MAX, wanted))


def _delay(options: RetryOptions, value: str) -> RetryOptions:
    return replace(options, delay_seconds=_number(value, 0, SECONDS_MAX, _SECONDS))


def _delay_max(options: RetryOptions, value: str) -> RetryOptions:
    return replace(options, delay_max_seconds=_number(value, 0, SECONDS_MAX, _SECONDS))


def _growth(options: RetryOptions, value: str) -> RetryOptions:
    return replace(options, growth=_choice(Growth, value, "kind of growth"))


def _jitter(options: RetryOptions, value: str) -> RetryOptions:
    percent = _number(value, 0, 100, "a whole number from 0 to 100")
    return replace(options, jitter_percent=percent)


def _wait_for_pods(options: RetryOptions, value: str) -> RetryOptions:
    return replace(options, wait_for_pods=_yes(value))


def _label_attempts(options: RetryOptions, value: str) -> RetryOptions:
    return replace(options, label_attempts=_yes(value))


_READERS: Mapping[str, Callable[[RetryOptions, str], RetryOptions]] = {
    "retry-policy": _policy,
    "retry-uncounted-max": _uncounted,
    "retry-delay-seconds": _delay,
    "retry-delay-max-seconds": _delay_max,
    "retry-delay-growth": _growth,
    "retry-jitter-percent": _jitter,
    "retry-after-pods-gone": _wait_for_pods,
    "label-attempts": _label_attempts,
}
"""Name of the annotation behind the prefix -> how it is read."""
