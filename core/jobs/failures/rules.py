"""The list of failure rules, most certain first.

A rule holds for an attempt if each of its clues finds a sign; the first that holds names the cause.
Patterns are regular expressions without regard to case. To add a cause: a rule in one of the four
files beside this one, a case in the corpus (`tests/rules/forensics/corpus`), nothing else.
"""

from collections.abc import Mapping

from jobledger.core.jobs.failures.rule import FailureRule
from jobledger.core.jobs.failures.rules_of_jobs import OF_JOBS
from jobledger.core.jobs.failures.rules_of_losses import OF_LOSSES
from jobledger.core.jobs.failures.rules_of_pods import OF_PODS
from jobledger.core.jobs.failures.rules_of_programs import OF_PROGRAMS
from jobledger.core.jobs.retries.failures import FailureClass

RULES: tuple[FailureRule, ...] = (*OF_PODS, *OF_LOSSES, *OF_PROGRAMS, *OF_JOBS)
"""In order of precedence: what took the ground away comes before what fell."""

UNEXPLAINED = FailureRule(
    name="unexplained",
    group=FailureClass.OTHER,
    because="of something that left no sign in what was seen",
    advice="read the whole history",
    tests=(),
)

CAUSES: Mapping[str, FailureRule] = {rule.name: rule for rule in (*RULES, UNEXPLAINED)}
"""Every cause by its name."""

GENERAL: Mapping[FailureClass, FailureRule] = {
    FailureClass.APPLICATION: CAUSES["application"],
    FailureClass.HEAD_LOST: CAUSES["head-restarted"],
    FailureClass.PREEMPTION: CAUSES["disrupted"],
    FailureClass.IMAGE_PULL: CAUSES["image-pull"],
    FailureClass.SUBMISSION: CAUSES["submission"],
    FailureClass.OTHER: UNEXPLAINED,
}
"""Retry group -> the cause where nothing says more than the group.

A head that is there and was lost all the same does not know its Ray job any more.
"""
