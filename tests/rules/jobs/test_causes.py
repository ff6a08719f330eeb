"""One list of causes, each in one retry group; a policy may name either."""

from dataclasses import dataclass

import pytest

from jobledger.core.jobs.failures.diagnosis import Judged, diagnose
from jobledger.core.jobs.failures.naming import causes_for_policies, named, read_subject
from jobledger.core.jobs.failures.rules import CAUSES, GENERAL, RULES
from jobledger.core.jobs.history.signs import Source
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import Answer, RetryOptions, RetryRule
from jobledger.core.jobs.retries.retry import Blame, judge
from jobledger.core.rayjob.observations.pods import DISRUPTIONS, IMAGE_TROUBLES


@dataclass(frozen=True)
class Seen:
    """A sign."""

    source: Source
    text: str


REFUSED = Seen(Source.LOG, "ConnectionError: Connection refused")
HEAD_GONE = Seen(Source.LOSS, "head")
DRAINED = Seen(Source.POD, "DeletionByTaintManager: the node is drained")


def test_every_group_has_causes_and_a_general_one_among_them() -> None:
    assert {rule.group for rule in RULES} == set(FailureClass)
    assert set(GENERAL) == set(FailureClass)
    assert all(GENERAL[group].group is group for group in FailureClass)


def test_a_name_that_is_a_group_and_a_cause_is_a_cause_of_that_group() -> None:
    both = [name for name in FailureClass if name in CAUSES]
    assert both == ["application", "head-lost", "image-pull", "submission"]
    assert all(CAUSES[name].group is FailureClass(name) for name in both)
    assert all(named(name) == (FailureClass(name), "") for name in both)


@pytest.mark.parametrize(
    ("words", "group"),
    [(DISRUPTIONS, FailureClass.PREEMPTION), (IMAGE_TROUBLES, FailureClass.IMAGE_PULL)],
)
def test_what_the_retry_rule_reads_from_pods_has_a_cause_of_its_group(
    words: frozenset[str], group: FailureClass
) -> None:
    words |= {"OutOfcpu", "OutOfnvidia.com/gpu"} if words == DISRUPTIONS else frozenset()
    told = {word: diagnose([Seen(Source.POD, f"{word}: ")], ran=False).rule for word in words}
    assert {word: rule.group for word, rule in told.items()} == dict.fromkeys(words, group)


@pytest.mark.parametrize("judged", [Judged(group) for group in FailureClass])
def test_a_failure_without_a_sign_keeps_the_group_that_was_judged(judged: Judged) -> None:
    found = diagnose(list[Seen](), ran=True, judged=judged)
    assert (found.rule.group, found.signs) == (judged.group, ())


@pytest.mark.parametrize("group", FailureClass)
def test_what_a_policy_was_asked_about_keeps_its_group_whatever_is_found_later(
    group: FailureClass,
) -> None:
    signs = [DRAINED, HEAD_GONE, REFUSED, Seen(Source.EXIT, "exit 1")]
    assert diagnose(signs, ran=True, judged=Judged(group, by_policy=True)).rule.group is group


@pytest.mark.parametrize(
    ("judged", "cause"),
    [
        (Judged(FailureClass.HEAD_LOST), "head-lost"),
        (Judged(FailureClass.APPLICATION), "unreachable"),
        (None, "head-lost"),
    ],
)
def test_a_head_that_went_goes_before_what_its_program_wrote_only_where_it_was_the_end(
    judged: Judged | None, cause: str
) -> None:
    assert diagnose([REFUSED, HEAD_GONE], ran=True, judged=judged).rule.name == cause


def test_a_pod_that_kubernetes_took_goes_before_the_loss_of_its_head() -> None:
    found = diagnose([HEAD_GONE, DRAINED], ran=True, judged=Judged(FailureClass.HEAD_LOST))
    assert found.rule.name == "node-lost"


def rule(text: str, answer: Answer) -> RetryRule:
    group, cause, exit_code = read_subject(text)
    return RetryRule(failure=group, cause=cause, exit_code=exit_code, answer=answer)


POLICY = RetryOptions(
    rules=(
        rule("application", Answer.UNCOUNTED),
        rule("missing-module", Answer.NEVER),
        rule("application:3", Answer.RETRY),
    )
)


@pytest.mark.parametrize(
    ("cause", "code", "granted", "says"),
    [
        ("missing-module", 1, False, "never retries failure class missing-module (of application)"),
        ("missing-module", 3, True, "failed attempt 1 is within backoffLimit 1"),
        ("killed", 1, True, "does not count failure class application (exit code 1)"),
    ],
)
def test_the_rule_for_less_goes_before_the_rule_for_more(
    cause: str, code: int, granted: bool, says: str
) -> None:
    blame = Blame(FailureClass.APPLICATION, code, cause)
    verdict = judge("AppFailed", 1, 1, blame=blame, options=POLICY)
    assert verdict.granted is granted
    assert says in verdict.rule


def test_a_policy_may_name_what_can_be_told_when_the_retry_is_judged() -> None:
    told = set(causes_for_policies())
    assert {"out-of-memory", "missing-module", "node-lost", "deadline"} <= told
    assert not told & {"admission", "permission", "disk-full-of-logs"}
    for name in sorted(set(CAUSES) - told - set(FailureClass)):
        with pytest.raises(ValueError, match="shows only after"):
            read_subject(name)
