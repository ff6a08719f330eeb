"""The page of the classes of failures: what each means, where it is read, what is done about it."""  # noqa: INP001 see generate.py

from collections.abc import Iterator

from jobledger.core.forensics.failures.rule import FailureRule
from jobledger.core.forensics.failures.rules import RULES, UNEXPLAINED

HEAD = """# Classes of failures

What `jobledger explain` may answer, and the field `failure_class` of its JSON. The rules are tried
in this order, and the first that fits counts: what took the ground away stands before what fell.
A class marked † explains only an attempt that did not get to run; later the same sign is an
episode. How a failure is looked into:
[Investigate a failed job](../howto/investigate-a-failed-job.md).

| class | failed because | read from | what is usually done |
|---|---|---|---|"""


def failure_classes_page() -> str:
    """Return the page."""
    return "\n".join((HEAD, *(_row(rule) for rule in (*RULES, UNEXPLAINED))))


def _row(rule: FailureRule) -> str:
    mark = " †" if rule.before_running else ""
    read = ", ".join(_sources(rule)) or "nothing that was seen"
    return f"| `{rule.name}`{mark} | {rule.because} | {read} | {rule.advice} |"


def _sources(rule: FailureRule) -> Iterator[str]:
    """Yield each source once, in the order in which the rule names them."""
    named = [source.value for test in rule.tests for source in test.sources]
    yield from dict.fromkeys(named)
