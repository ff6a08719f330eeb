"""What Pods say about a failure: which word counts, and how much is kept."""

from typing import Any

import pytest

from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.rayjob.observations.pods import PODS_KEPT_MAX, pod_fact, pod_facts
from jobledger.core.rayjob.rules.failure_class import by_evidence
from tests.support.rayjob_builders import pod


def listed(name: str = "p", role: str = "worker", **status: Any) -> dict[str, Any]:  # noqa: ANN401 any JSON
    """Return a Pod as an API server serves it."""
    labels = {"ray.io/node-type": role} if role != "submitter" else {"job-name": "train"}
    return {
        "metadata": {"name": name, "uid": f"uid-of-{name}", "labels": labels},
        "status": {"phase": "Running", **status},
    }


def container(**state: Any) -> dict[str, Any]:  # noqa: ANN401 any JSON
    return {"containerStatuses": [{"name": "ray", **state}]}


def disrupted(reason: str) -> dict[str, Any]:
    return {
        "conditions": [
            {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "why"}
        ]
    }


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"phase": "Failed", "reason": "Evicted", "message": "memory"}, "Evicted"),
        ({"phase": "Failed", "reason": "NodeLost"}, "NodeLost"),
        ({"phase": "Failed", "reason": "Preempting"}, "Preempting"),
        (disrupted("PreemptionByScheduler"), "PreemptionByScheduler"),
        (disrupted("DeletionByTaintManager"), "DeletionByTaintManager"),
        (disrupted("EvictionByEvictionAPI"), "EvictionByEvictionAPI"),
        ({"phase": "Failed", "reason": "OutOfcpu"}, "OutOfcpu"),
        ({"phase": "Failed", "reason": "OutOfnvidia.com/gpu"}, "OutOfnvidia.com/gpu"),
        (
            {
                **disrupted("TerminationByKubelet"),
                **container(state={"terminated": {"exitCode": 137}}),
            },
            "TerminationByKubelet",
        ),
    ],
)
def test_a_pod_that_was_taken_away_says_by_whom(status: dict[str, Any], reason: str) -> None:
    fact = pod_fact(listed(**status))
    assert (fact.disrupted, fact.reason) == (True, reason)


@pytest.mark.parametrize(
    "reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"]
)
def test_an_image_that_is_not_to_be_had_is_seen(reason: str) -> None:
    fact = pod_fact(listed(phase="Pending", **container(state={"waiting": {"reason": reason}})))
    assert (fact.image_trouble, fact.disrupted, fact.reason) == (True, False, reason)


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (
            container(state={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
            137,
            "OOMKilled",
        ),
        (
            container(
                state={"waiting": {"reason": "CrashLoopBackOff"}},
                lastState={"terminated": {"exitCode": 1, "reason": "Error"}},
            ),
            1,
            "CrashLoopBackOff",
        ),
        (container(state={"terminated": {"exitCode": 0, "reason": "Completed"}}), None, ""),
        (container(state={"waiting": {"reason": "ContainerCreating"}}), None, ""),
        ({}, None, ""),
    ],
)
def test_exit_codes_and_waits_are_told(
    status: dict[str, Any], code: int | None, reason: str
) -> None:
    fact = pod_fact(listed(**status))
    assert (fact.exit_code, fact.reason) == (code, reason)
    assert (fact.disrupted, fact.image_trouble) == (False, False)


def test_the_role_is_that_of_the_ray_node_or_the_submitters() -> None:
    roles = [pod_fact(listed(role=role)).role for role in ("head", "worker", "submitter")]
    assert roles == ["head", "worker", "submitter"]


def test_of_many_pods_the_most_telling_are_kept() -> None:
    quiet = [listed(f"quiet-{number:04}") for number in range(2000)]
    facts = pod_facts([*quiet, listed("head", "head"), listed("z", **disrupted("Evicted"))])
    assert len(facts) == PODS_KEPT_MAX
    assert [fact.name for fact in facts[:2]] == ["z", "head"]


def test_a_message_is_cut() -> None:
    fact = pod_fact(listed(phase="Failed", reason="Evicted", message="x" * 5000))
    assert len(fact.message) == 200


@pytest.mark.parametrize(
    "odd", [{}, {"status": None}, {"metadata": 3}, {"status": {"conditions": 1}}]
)
def test_a_pod_of_any_shape_is_read(odd: dict[str, Any]) -> None:
    assert pod_fact(odd).disrupted is False


EVICTED = pod("worker", "Failed", reason="Evicted", disrupted=True)
PULLING = pod("worker", "Pending", reason="ErrImagePull", image_trouble=True)
KILLED = pod("head", "Running", reason="OOMKilled", exit_code=137)


@pytest.mark.parametrize("failure", FailureClass)
def test_a_pod_that_was_taken_away_explains_every_failure(failure: FailureClass) -> None:
    assert by_evidence(failure, 1, [PULLING, EVICTED])[0] is FailureClass.PREEMPTION


@pytest.mark.parametrize(
    ("failure", "exit_code", "expected"),
    [
        (FailureClass.OTHER, None, FailureClass.IMAGE_PULL),
        (FailureClass.SUBMISSION, None, FailureClass.IMAGE_PULL),
        (FailureClass.APPLICATION, 1, FailureClass.APPLICATION),
        (FailureClass.HEAD_LOST, None, FailureClass.HEAD_LOST),
    ],
)
def test_an_image_that_is_not_to_be_had_explains_what_never_ran(
    failure: FailureClass, exit_code: int | None, expected: FailureClass
) -> None:
    assert by_evidence(failure, exit_code, [PULLING])[0] is expected


def test_an_exit_code_of_a_container_is_evidence_and_changes_no_class() -> None:
    found = by_evidence(FailureClass.HEAD_LOST, None, [KILLED])
    assert found == (
        FailureClass.HEAD_LOST,
        "head Pod train-head is Running: OOMKilled, exit code 137",
    )


def test_without_pods_a_failure_is_what_it_was_taken_for() -> None:
    assert by_evidence(FailureClass.SUBMISSION, None, []) == (FailureClass.SUBMISSION, "")


def test_a_pod_that_no_node_has_room_for_says_so() -> None:
    why = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": why,
    }
    fact = pod_fact(listed(phase="Pending", conditions=[condition]))
    assert (fact.reason, fact.message, fact.disrupted) == ("Unschedulable", why, False)
