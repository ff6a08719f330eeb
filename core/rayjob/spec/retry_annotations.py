"""Parses the retry annotations of a RayJob.

Each annotation stands for itself: one that cannot be understood is left out, as if it were not
there, and named; it never makes the job invalid. A policy, or a deadline over all attempts, that
cannot be understood might forbid any retry, so there is none.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from jobledger.core.jobs.failures.naming import read_subject
from jobledger.core.jobs.retries.job_deadline import WANTED, deadline_seconds
from jobledger.core.jobs.retries.options import (
    NOTHING_ASKED,
    Answer,
    Growth,
    RetryOptions,
    RetryRule,
)
from jobledger.core.jobs.retries.slips import (
    JOB_DEADLINE,
    LIMITS,
    POLICY,
    SHOWN_MAX,
    at_most_named,
    complaint,
    limit_meant,
    slips,
)
from jobledger.core.rayjob.spec.go_values import texts
from jobledger.core.rayjob.spec.spec import RayJobSpec, SubmissionMode, read_spec
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.durations import duration_seconds
from jobledger.core.values.our_prefix import OUR_PREFIX

SECONDS_MAX = 7 * 24 * 60 * 60
"""Longest pause that can be asked for: a week."""

UNCOUNTED_MAX = 1000
"""Most retries without counting that can be asked for."""

_RETRY_ON = "retry-on"
_SAME_CLUSTER, _NEW_CLUSTER = "same-cluster", "new-cluster"

_SECONDS = f"a duration from 0 to {SECONDS_MAX} seconds, as in 90, 90s or 1h30m"


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
            options = _unclear(options, name)
            problems.append(
                complaint(key, annotations[key], str(wrong), forbids_retries=name in LIMITS)
            )
    unknown = _unknown(annotations)
    problems += at_most_named(list(unknown.values()))
    for key in unknown:
        options = _unclear(options, limit_meant(key, annotations[key]))
    if options.rules and (why := _never_retries(read_spec(job))):
        key = f"{OUR_PREFIX}{POLICY}"
        problems.append(complaint(key, annotations[key], why))
        options = replace(options, rules=())
    if options.same_cluster and (why := always_a_new_cluster(read_spec(job), options)):
        key = f"{OUR_PREFIX}{_RETRY_ON}"
        problems.append(complaint(key, annotations[key], why))
        options = replace(options, same_cluster=False)
    return ReadOptions(options, tuple(problems))


def _unclear(options: RetryOptions, name: str) -> RetryOptions:
    """Return the options where what an annotation limits is not known."""
    return replace(
        options,
        unclear=options.unclear or name == POLICY,
        deadline_unclear=options.deadline_unclear or name == JOB_DEADLINE,
    )


def _unknown(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return complaints about annotations that look as if meant for here: a slip of the pen."""
    why = f"there is no such annotation; known are {', '.join(sorted(_READERS))}"
    meant = {key: annotations[key] for key in slips(annotations, _READERS)}
    return {
        key: complaint(key, written, why, forbids_retries=bool(limit_meant(key, written)))
        for key, written in meant.items()
    }


def _never_retries(spec: RayJobSpec) -> str:
    """Return why no attempt of a job is ever followed by another; empty if one can be."""
    if spec.cluster_selector:
        return "a job with a clusterSelector is never retried"
    if spec.submission_mode is SubmissionMode.INTERACTIVE:
        return "a job in InteractiveMode is never retried"
    return ""


def always_a_new_cluster(spec: RayJobSpec, options: RetryOptions) -> str:
    """Return why no attempt of a job can run on the RayCluster of the last; empty if one can."""
    if why := _never_retries(spec):
        return why
    if spec.submission_mode is SubmissionMode.SIDECAR:
        return "in SidecarMode the submitter is part of the head's Pod, so each needs a head"
    if spec.job_id:
        return "a head takes the submission that spec.jobId names only once"
    if options.wait_for_pods:
        return f"{OUR_PREFIX}retry-after-pods-gone asks that no Pod of the last attempt is left"
    if options.label_attempts:
        return f"{OUR_PREFIX}label-attempts asks for Pods that are labelled with their attempt"
    return ""


def _number(value: str, lowest: int, highest: int, wanted: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", value) or not lowest <= int(value) <= highest:
        raise _Wrong(f"write {wanted}")
    return int(value)


Choice = TypeVar("Choice", Answer, Growth)


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
        said = ((it.failure, it.cause, it.exit_code) for it in rules)
        if (rule.failure, rule.cause, rule.exit_code) in said:
            raise _Wrong(f"{entry[:SHOWN_MAX]!a} says something that was said before")
        rules.append(rule)
    return replace(options, rules=tuple(rules))


def _rule(entry: str) -> RetryRule:
    what, equals, answer = (part.strip() for part in entry.partition("="))
    if not equals:
        raise _Wrong("write class=answer, parted by commas, as in preemption=uncounted")
    try:
        failure, cause, exit_code = read_subject(what)
    except ValueError as error:
        raise _Wrong(str(error)) from error
    return RetryRule(
        failure=failure,
        cause=cause,
        exit_code=exit_code,
        answer=_choice(Answer, answer, "answer"),
    )


def _duration(value: str) -> int:
    seconds = duration_seconds(value)
    if seconds is None or seconds > SECONDS_MAX:
        raise _Wrong(f"write {_SECONDS}")
    return seconds


def _uncounted(options: RetryOptions, value: str) -> RetryOptions:
    wanted = f"a whole number from 0 to {UNCOUNTED_MAX}"
    return replace(options, uncounted_max=_number(value, 0, UNCOUNTED_MAX, wanted))


def _delay(options: RetryOptions, value: str) -> RetryOptions:
    return replace(options, delay_seconds=_duration(value))


def _delay_max(options: RetryOptions, value: str) -> RetryOptions:
    return replace(options, delay_max_seconds=_duration(value))


def _growth(options: RetryOptions, value: str) -> RetryOptions:
    return replace(options, growth=_choice(Growth, value, "kind of growth"))


def _jitter(options: RetryOptions, value: str) -> RetryOptions:
    percent = _number(value, 0, 100, "a whole number from 0 to 100")
    return replace(options, jitter_percent=percent)


def _wait_for_pods(options: RetryOptions, value: str) -> RetryOptions:
    return replace(options, wait_for_pods=_yes(value))


def _retry_on(options: RetryOptions, value: str) -> RetryOptions:
    if value not in (_SAME_CLUSTER, _NEW_CLUSTER):
        raise _Wrong(f"write {_SAME_CLUSTER} or {_NEW_CLUSTER}")
    return replace(options, same_cluster=value == _SAME_CLUSTER)


def _label_attempts(options: RetryOptions, value: str) -> RetryOptions:
    return replace(options, label_attempts=_yes(value))


def _job_deadline(options: RetryOptions, value: str) -> RetryOptions:
    seconds = deadline_seconds(value)
    if seconds is None:
        raise _Wrong(f"write {WANTED}")
    return replace(options, job_deadline_seconds=seconds)


_READERS: Mapping[str, Callable[[RetryOptions, str], RetryOptions]] = {
    POLICY: _policy,
    "retry-uncounted-max": _uncounted,
    "retry-delay-seconds": _delay,
    "retry-delay-max-seconds": _delay_max,
    "retry-delay-growth": _growth,
    "retry-jitter-percent": _jitter,
    "retry-after-pods-gone": _wait_for_pods,
    _RETRY_ON: _retry_on,
    "label-attempts": _label_attempts,
    JOB_DEADLINE: _job_deadline,
}
"""Name of the annotation behind the prefix -> how it is read."""
