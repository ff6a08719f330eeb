"""The page of the causes of failures: what each means, where it is read, what is done about it."""  # noqa: INP001 see generate.py

from collections.abc import Iterator

from jobledger.core.jobs.failures.naming import is_told_at_verdict
from jobledger.core.jobs.failures.rule import FailureRule
from jobledger.core.jobs.failures.rules import RULES, UNEXPLAINED

HEAD = """# Classes of failures

Each cause of a failure is in one retry group. A cause is what `jobledger explain` answers
(`failure_class` of its JSON, with `failure_group`), and the column `cause` of the reporting views;
its group is their column `failure_class`. [Retry policies](../howto/ask-for-retries.md) and
`jobledger what-if --retry` take either; a name that is both stands for the group, all its causes
with it. Those marked ‡ show only once the retry was judged: policies take their group.

The rules are tried in this order, and the first that fits counts: what took the ground away stands
before what fell. A cause marked † explains only an attempt that did not get to run; later the same
sign is an episode. What the retry rule judged goes before: what had not gone when an attempt failed
was not its cause, what had gone was, and what was acted upon by a policy keeps its group. How a
failure is looked into: [Investigate a failed job](../howto/investigate-a-failed-job.md).

| cause | retry group | failed because | read from | what is usually done |
|---|---|---|---|---|"""


def failure_classes_page() -> str:
    """Return the page."""
    return "\n".join((HEAD, *(_row(rule) for rule in (*RULES, UNEXPLAINED))))


def _row(rule: FailureRule) -> str:
    mark = " †" if rule.before_running else ""
    mark += "" if is_told_at_verdict(rule) else " ‡"
    read = ", ".join(_sources(rule)) or "nothing that was seen"
    return f"| `{rule.name}`{mark} | `{rule.group}` | {rule.because} | {read} | {rule.advice} |"


def _sources(rule: FailureRule) -> Iterator[str]:
    """Yield each source once, in the order in which the rule names them."""
    named = [source.value for test in rule.tests for source in test.sources]
    yield from dict.fromkeys(named)
