"""The rules of the simulated JobSet controller, one by one, on documents."""

from datetime import timedelta
from typing import Any

import pytest

from jobledger.core.values.documents import Json
from jobledger.core.values.instants import EPOCH, rfc3339
from jobledger.sandbox.controllers.jobset.children import (
    children_of,
    counts_of,
    replicated_jobs_status,
)
from jobledger.sandbox.controllers.jobset.conditions import (
    COMPLETED,
    RESUMED,
    STARTED,
    STARTING,
    SUSPENDED,
    Condition,
    ended_at,
    with_condition,
)
from jobledger.sandbox.controllers.jobset.order import has_started, may_start
from jobledger.sandbox.controllers.jobset.policies import (
    Failed,
    Restarted,
    is_complete,
    outcome_of_failure,
)
from jobledger.sandbox.controllers.jobset.resume import resumption
from tests.support.jobsets import Document, group, jobset

GROUP = "jobset.sigs.k8s.io/replicatedjob-name"
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
LATER = EPOCH + timedelta(hours=1)


def _job(of: str, ended: str = "", *, attempt: str = "0", at: int = 0, **more: Any) -> Any:  # noqa: ANN401  # a document
    condition = {
        "type": ended,
        "status": "True",
        "reason": more.pop("reason", "BackoffLimitExceeded"),
        "message": more.pop("message", ""),
        "lastTransitionTime": rfc3339(EPOCH + timedelta(seconds=at)),
    }
    return {
        "metadata": {"name": f"js-{of}-{at}", "labels": {GROUP: of, ATTEMPT: attempt}},
        "spec": {"parallelism": 2, "completions": 2, **more.pop("spec", {})},
        "status": {**more, **({"conditions": [condition]} if ended else {})},
    }


def test_jobs_are_sorted_by_attempt_and_end() -> None:
    jobs = [
        _job("a", attempt="0"),
        _job("a", "Failed", attempt="1"),
        _job("a", "Complete", attempt="1"),
        _job("a", "FailureTarget", attempt="1"),
        _job("a", attempt="odd"),
    ]
    found = children_of(jobs, 1)
    assert found.previous == [jobs[0], jobs[4]]
    assert (found.failed, found.succeeded) == ([jobs[1]], [jobs[2]])
    assert found.active == [jobs[3]], "a Job that is about to fail still counts as active"


@pytest.mark.parametrize(
    ("status", "counted"),
    [
        ({}, {}),
        ({"active": 2}, {"active": 1}),
        ({"active": 2, "ready": 1}, {"active": 1}),
        ({"active": 2, "ready": 2}, {"active": 1, "ready": 1}),
        ({"active": 1, "ready": 1, "succeeded": 1}, {"active": 1, "ready": 1}),
        ({"spec": {"suspend": True}}, {"suspended": 1}),
        ({"spec": {"parallelism": 5}, "active": 2, "ready": 2}, {"active": 1, "ready": 1}),
    ],
)
def test_an_active_job_is_counted(status: dict[str, Any], counted: dict[str, int]) -> None:
    counts = counts_of(jobset("js", group("a")), children_of([_job("a", **status)], 0))
    assert {name: count for name, count in counts["a"].items() if count} == counted


def test_groups_without_jobs_are_counted_too_and_the_last_name_comes_first() -> None:
    jobs = [_job("b", "Complete"), _job("b", "Failed"), _job("stranger", "Failed")]
    counts = counts_of(jobset("js", group("a"), group("b"), group("c")), children_of(jobs, 0))
    shown = replicated_jobs_status(counts)
    nought = {"ready": 0, "active": 0, "suspended": 0}
    assert shown == [
        {"name": "c", "succeeded": 0, "failed": 0, **nought},
        {"name": "b", "succeeded": 1, "failed": 1, **nought},
        {"name": "a", "succeeded": 0, "failed": 0, **nought},
    ]


@pytest.mark.parametrize(
    ("wanted", "counts", "may"),
    [
        ("Complete", {"succeeded": 2}, True),
        ("Complete", {"succeeded": 1, "failed": 1}, False),
        ("Complete", {"ready": 2}, False),
        ("Ready", {"ready": 2}, True),
        ("Ready", {"ready": 1, "succeeded": 1}, True),
        ("Ready", {"ready": 1, "failed": 1}, True),
        ("Ready", {"active": 2}, False),
    ],
)
def test_a_group_waits_for_what_it_depends_on(
    wanted: str, counts: dict[str, int], may: bool
) -> None:
    needs = [{"name": "a", "status": wanted}]
    first, second = group("a", replicas=2), group("b", dependsOn=needs)
    whole = jobset("js", first, second)
    nought = dict.fromkeys(("ready", "succeeded", "failed", "active", "suspended"), 0)
    found = {"a": nought | counts, "b": nought}
    assert may_start(whole, second, found) is may
    assert may_start(whole, first, found)
    assert has_started(first, found) is (sum(counts.values()) == 2 and "active" not in counts)


@pytest.mark.parametrize(
    ("policy", "succeeded", "complete"),
    [
        ({"operator": "All"}, ["a", "b"], False),
        ({"operator": "All"}, ["a", "b", "b"], True),
        ({}, ["a", "b", "b"], True),
        ({"operator": "All", "targetReplicatedJobs": ["b"]}, ["b", "b"], True),
        ({"operator": "All", "targetReplicatedJobs": ["b"]}, ["a", "b"], False),
        ({"operator": "Any"}, ["a"], True),
        ({"operator": "Any", "targetReplicatedJobs": ["b"]}, ["a"], False),
    ],
)
def test_the_success_policy(policy: dict[str, Any], succeeded: list[str], complete: bool) -> None:
    whole = jobset("js", group("a"), group("b", replicas=2), successPolicy=policy)
    assert is_complete(whole, [_job(name, "Complete") for name in succeeded]) is complete


def _failing(policy: object, *failed: Any, counted: int = 0) -> Failed | Restarted:  # noqa: ANN401  # documents
    spec = {} if policy is None else {"failurePolicy": policy}
    whole = jobset("js", group("a"), group("b"), **spec)
    whole["status"] = {"restartsCountTowardsMax": counted}
    return outcome_of_failure(whole, failed)


def test_the_first_failure_is_the_one_that_is_named() -> None:
    found = _failing(None, _job("a", "Failed", at=9), _job("b", "Failed", at=5))
    said = "jobset failed due to one or more job failures (first failed job: js-b-5)"
    assert found == Failed("FailedJobs", said)


def test_a_restart_counts_until_the_limit() -> None:
    said = "applying RestartJobSet failure policy action (first failed job: js-a-0)"
    found = _failing({"maxRestarts": 2}, _job("a", "Failed"), counted=1)
    assert found == Restarted(is_counted=True, reason="DefaultFailurePolicy", message=said)
    said = "jobset failed due to reaching max number of restarts (first failed job: js-a-0)"
    found = _failing({"maxRestarts": 2}, _job("a", "Failed"), counted=2)
    assert found == Failed("ReachedMaxRestarts", said)
    assert _failing({}, _job("a", "Failed")) == Failed("ReachedMaxRestarts", said)


@pytest.mark.parametrize(
    ("rule", "applies"),
    [
        ({}, True),
        ({"onJobFailureReasons": ["DeadlineExceeded"]}, True),
        ({"onJobFailureReasons": ["BackoffLimitExceeded"]}, False),
        ({"onJobFailureMessagePatterns": ["^exit"]}, False),
        ({"onJobFailureMessagePatterns": ["(", "exit code [0-9]+"]}, True),
        ({"targetReplicatedJobs": ["a"]}, True),
        ({"targetReplicatedJobs": ["b"]}, False),
        ({"targetReplicatedJobs": ["a"], "onJobFailureReasons": ["PodFailurePolicy"]}, False),
    ],
)
def test_a_rule_applies_to_reason_message_and_group(rule: dict[str, Any], applies: bool) -> None:
    job = _job("a", "Failed", reason="DeadlineExceeded", message="late, exit code 7")
    policy = {"maxRestarts": 0, "rules": [{"name": "r", "action": "FailJobSet", **rule}]}
    found = _failing(policy, job)
    assert isinstance(found, Failed)
    assert (found.reason == "FailJobSetFailurePolicyAction") is applies


def test_the_first_matching_rule_decides_and_names_its_job() -> None:
    rules = [
        {"name": "one", "action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]},
        {
            "name": "two",
            "action": "RestartJobSetAndIgnoreMaxRestarts",
            "targetReplicatedJobs": ["b"],
        },
    ]
    failed = _job("a", "Failed", at=1), _job("b", "Failed", at=2)
    found = _failing({"maxRestarts": 0, "rules": rules}, *failed)
    action = "applying RestartJobSetAndIgnoreMaxRestarts failure policy action"
    said = f"{action} (first failed job: js-b-2)"
    assert found == Restarted(is_counted=False, reason="FailurePolicy_two", message=said)


def _after(*conditions: Condition) -> list[tuple[Json, Json, Json]]:
    found: list[Json] = []
    for index, one in enumerate(conditions):
        found = with_condition(found, one, EPOCH + timedelta(minutes=index))
    return [
        (entry["type"], entry["status"], entry["lastTransitionTime"][14:16])  # type: ignore[call-overload, index]  # a condition
        for entry in found
    ]


def test_a_condition_that_is_false_is_never_added() -> None:
    assert _after(RESUMED) == []
    assert _after(SUSPENDED, RESUMED) == [("Suspended", "False", "01")]


def test_the_time_of_a_condition_changes_with_its_status_only() -> None:
    other = Condition(kind="Suspended", reason="Other", message="other")
    assert _after(SUSPENDED, other, COMPLETED) == [
        ("Suspended", "True", "00"),
        ("Completed", "True", "02"),
    ]


def test_the_two_conditions_of_the_startup_policy_exclude_each_other() -> None:
    assert _after(STARTING, STARTED) == [
        ("StartupPolicyInProgress", "False", "00"),
        ("StartupPolicyCompleted", "True", "01"),
    ]
    assert [found[:2] for found in _after(STARTING, STARTED, STARTING)] == [
        ("StartupPolicyInProgress", "True"),
        ("StartupPolicyCompleted", "False"),
    ]


def test_a_jobset_has_ended_when_it_is_complete_or_failed() -> None:
    running = with_condition([], SUSPENDED, EPOCH)
    assert ended_at(running) is None
    assert ended_at(with_condition(running, COMPLETED, LATER)) == rfc3339(LATER)


def test_a_resumed_job_takes_what_its_template_was_given() -> None:
    job: Document = {
        "spec": {
            "template": {
                "metadata": {"labels": {"own": "1", "old": "1"}},
                "spec": {"tolerations": [{"key": "a"}]},
            }
        }
    }
    template: Document = {
        "metadata": {"labels": {"old": "2", "new": "3"}},
        "spec": {"tolerations": [{"key": "a"}, {"key": "b"}], "nodeSelector": {"x": "y"}},
    }
    assert resumption(job, template) == {
        "suspend": False,
        "template": {
            "metadata": {"labels": {"own": "1", "old": "2", "new": "3"}},
            "spec": {"tolerations": [{"key": "a"}, {"key": "b"}], "nodeSelector": {"x": "y"}},
        },
    }
    assert resumption(job, {}) == {"suspend": False}
