"""The list of failure rules, most certain first.

A rule holds for an attempt if each of its clues finds a sign; the first that holds names the class.
Patterns are regular expressions without regard to case. To add a class: a rule in one of the three
files beside this one, a case in the corpus (`tests/failure_corpus`), nothing else.
"""

from jobledger.core.forensics.failures.rule import FailureRule
from jobledger.core.forensics.failures.rules_of_jobs import OF_JOBS
from jobledger.core.forensics.failures.rules_of_pods import OF_PODS
from jobledger.core.forensics.failures.rules_of_programs import OF_PROGRAMS

RULES: tuple[FailureRule, ...] = (*OF_PODS, *OF_PROGRAMS, *OF_JOBS)
"""In order of precedence: what took the ground away comes before what fell."""

UNEXPLAINED = FailureRule(
    name="unexplained",
    because="of something that left no sign in what was seen",
    advice="read the whole history",
    tests=(),
)
