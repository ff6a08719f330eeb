"""Which occasions a rule asks for, and what is said of rules that mean nothing."""

from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.core.notifications.rules import OCCASIONS, Occasion, Rule, asks_for, slips
from tests.support.notices import an_occasion

FAILED = an_occasion()
MATCHES: dict[str, dict[str, Any]] = {
    "no restriction but the event": {},
    "the cause": {"failures": ("quota", "out-of-memory")},
    "the retry group of the cause": {"failures": ("application",)},
    "the kind": {"kinds": ("TrainJob", "RayJob")},
    "the namespace": {"namespaces": ("ml",)},
    "the beginning of the namespace": {"namespaces": ("team-*", "m*")},
    "the cluster": {"clusters": ("prod-*",)},
    "a label": {"labels": {"team": "vision"}},
    "a label of any value": {"labels": {"team": "*"}},
    "its stored name": {"events": ("JobFailed",)},
    "one word of several": {"events": ("job-complete", "job-failed")},
}
DIFFERS: dict[str, dict[str, Any]] = {
    "another cause": {"failures": ("quota",)},
    "another kind": {"kinds": ("TrainJob",)},
    "another namespace": {"namespaces": ("ml-2", "m")},
    "a namespace in brackets": {"namespaces": ("m[a-z]", "m?")},
    "another cluster": {"clusters": ("prod",)},
    "another value of a label": {"labels": {"team": "speech"}},
    "a label that it does not have": {"labels": {"tier": "*"}},
    "one label of two": {"labels": {"team": "vision", "tier": "1"}},
    "another event": {"events": ("job-complete",)},
    "an end of an attempt": {"events": ("attempt-failed",)},
}


def a_rule(**fields: object) -> Rule:
    return replace(Rule(name="r", targets=("chat",)), **fields)


@pytest.mark.parametrize("how", MATCHES)
def test_an_occasion_is_asked_for_by(how: str) -> None:
    assert asks_for(a_rule(**MATCHES[how]), FAILED)


@pytest.mark.parametrize("how", DIFFERS)
def test_an_occasion_is_not_asked_for_by(how: str) -> None:
    assert not asks_for(a_rule(**DIFFERS[how]), FAILED)


def test_all_that_a_rule_says_has_to_hold() -> None:
    both = a_rule(failures=("out-of-memory",), namespaces=("ml",))
    assert asks_for(both, FAILED)
    assert not asks_for(both, an_occasion(namespace="other"))
    assert not asks_for(both, an_occasion(cause="quota", failure_class="other"))


def test_a_rule_about_failures_asks_for_nothing_that_is_none() -> None:
    complete = an_occasion(called=frozenset({"job-complete"}), cause="", failure_class="")
    assert not asks_for(a_rule(events=("job-complete",), failures=("quota",)), complete)
    assert asks_for(a_rule(events=("job-complete",)), complete)


def test_words_stand_for_events_of_every_kind_of_job() -> None:
    assert OCCASIONS["job-failed"] == {"JobFailed", "TrainJobFailed", "BatchJobFailed"}
    assert all(len(names) == 3 for word, names in OCCASIONS.items() if word != "manifest-rejected")
    assert a_rule(events=("job-failed", "ClusterKept")).names == {
        *OCCASIONS["job-failed"],
        "ClusterKept",
    }


SLIPS: dict[str, dict[str, Any]] = {
    "rule 'r': there is no target 'caht'; write chat": {"targets": ("caht",)},
    "rule 'r': there is no event 'job-fialed'; job-failed may be meant": {
        "events": ("job-fialed",)
    },
    "rule 'r': there is no cause of failures 'oom'": {"failures": ("oom",)},
    "rule 'r': there is no cause of failures 'preempt'; preempted may be meant": {
        "failures": ("preempt",)
    },
    "rule 'r': there is no kind of job 'Rayjob'; write Job or RayJob or TrainJob": {
        "kinds": ("Rayjob",)
    },
    "rule 'r': it needs at least one event and one target": {"events": ()},
}


@pytest.mark.parametrize("told", SLIPS)
def test_what_means_nothing_is_named(told: str) -> None:
    assert list(slips([a_rule(**SLIPS[told])], ["chat"])) == [told]


def test_rules_that_mean_something_have_no_slips() -> None:
    rules = [a_rule(name=how, **MATCHES[how]) for how in MATCHES]
    assert list(slips(rules, ["chat"])) == []


def test_two_rules_of_one_name_are_told() -> None:
    assert list(slips([a_rule(), a_rule()], ["chat"])) == [
        "rule 'r': each rule needs a name of its own"
    ]


def test_an_occasion_is_what_it_is_called() -> None:
    assert isinstance(FAILED, Occasion)
    assert FAILED.called == {"JobFailed", "job-failed"}
