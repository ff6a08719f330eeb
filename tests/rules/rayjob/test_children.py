"""What is read from a RayCluster and from a submitter."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from jobledger.core.rayjob.manifests.manifests import build_cluster
from jobledger.core.rayjob.observations.children import (
    SubmitterEnd,
    address_within,
    dashboard_address,
    mirrored_status,
    owner_uid,
    sidecar_end,
    submission_of,
    submitter_end,
)
from tests.rules.rayjob.jobs import rayjob


def cluster(head: dict[str, Any], name: str = "train-x") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ml"}, "spec": {"headGroupSpec": head}}


def ports(*named: tuple[str, int]) -> dict[str, Any]:
    listed = [{"name": name, "containerPort": port} for name, port in named]
    return {"template": {"spec": {"containers": [{"ports": listed}]}}}


def service(name: str = "", *named: tuple[str, int]) -> dict[str, Any]:
    listed = [{"name": port_name, "port": port} for port_name, port in named]
    return {"headService": {"metadata": {"name": name}, "spec": {"ports": listed}}}


class Row(NamedTuple):
    rule: str
    head: dict[str, Any]
    address: str


ROWS = (
    Row("no ports: upstream's default", {}, "train-x-head-svc.ml.svc.cluster.local:8265"),
    Row(
        "a container's named port",
        ports(("client", 10001), ("dashboard", 9999)),
        "train-x-head-svc.ml.svc.cluster.local:9999",
    ),
    Row("ports, but no dashboard among them", ports(("client", 10001)), ""),
    Row(
        "a port without a name is a port",
        {"template": {"spec": {"containers": [{"ports": [{"containerPort": 8265}]}]}}},
        "",
    ),
    Row(
        "the head's Service may have a name of its own",
        service("mine"),
        "mine.ml.svc.cluster.local:8265",
    ),
    Row(
        "its own dashboard port comes first",
        {**ports(("dashboard", 9999)), **service("mine", ("dashboard", 80))},
        "mine.ml.svc.cluster.local:80",
    ),
    Row(
        "its other ports do not hide the container's",
        {**ports(("dashboard", 9999)), **service("", ("metrics", 80))},
        "train-x-head-svc.ml.svc.cluster.local:9999",
    ),
    Row(
        "a port that is no number",
        {"template": {"spec": {"containers": [{"ports": [{"name": "dashboard"}]}]}}},
        "",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_the_dashboards_address_follows_from_the_specification(row: Row) -> None:
    assert dashboard_address(cluster(row.head)) == row.address


def test_the_cluster_may_have_another_domain() -> None:
    address = dashboard_address(cluster({}), domain="corp.example")
    assert address == "train-x-head-svc.ml.svc.corp.example:8265"


def test_a_cluster_without_a_name_has_no_address() -> None:
    assert dashboard_address({}) == ""


def owned(**change: Any) -> dict[str, Any]:  # noqa: ANN401 any JSON
    reference = {"apiVersion": "ray.io/v1", "kind": "RayJob", "uid": "u", "controller": True}
    return {"metadata": {"ownerReferences": [None, reference | change]}}


@pytest.mark.parametrize(
    ("manifest", "uid"),
    [
        (owned(), "u"),
        (owned(apiVersion="ray.io/v1alpha1"), "u"),
        (owned(controller=False), ""),
        (owned(kind="RayCronJob"), ""),
        (owned(apiVersion="example.com/v1"), ""),
        ({"metadata": {"ownerReferences": "u"}}, ""),
        ({}, ""),
    ],
)
def test_the_owner_is_the_rayjob_that_controls_it(manifest: dict[str, Any], uid: str) -> None:
    assert owner_uid(manifest) == uid


def test_what_is_built_is_owned() -> None:
    assert owner_uid(build_cluster(rayjob(), "c", 1)) == "uid-of-train"


def test_the_status_is_mirrored_but_for_what_changes_every_time() -> None:
    status: dict[str, Any] = {
        "state": "ready",
        "endpoints": {"dashboard": "8265"},
        "conditions": [],
    }
    manifest = {"status": {**status, "lastUpdateTime": "2026-11-21T12:00:00Z"}}
    assert mirrored_status(manifest) == status
    assert mirrored_status({"status": "ready"}) == {}


def condition(kind: str, status: str = "True") -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": "2026-11-21T12:00:00Z",
        "reason": f"Reason{kind}",
        "message": f"it is {kind}",
    }


def ended(kind: str) -> SubmitterEnd:
    return SubmitterEnd(
        outcome=kind,
        finished_at=datetime(2026, 11, 21, 12, tzinfo=UTC),
        reason=f"Reason{kind}",
        message=f"it is {kind}",
    )


@pytest.mark.parametrize(
    ("conditions", "end"),
    [
        ([], SubmitterEnd()),
        (None, SubmitterEnd()),
        ([condition("Complete")], ended("Complete")),
        ([condition("SuccessCriteriaMet"), condition("Complete")], ended("Complete")),
        ([condition("FailureTarget"), condition("Failed")], ended("Failed")),
        ([condition("FailureTarget")], SubmitterEnd()),
        ([condition("Complete", "False"), condition("Failed")], ended("Failed")),
        ([condition("Failed"), condition("Complete")], ended("Failed")),
        ([{"type": "Failed", "status": "True"}], SubmitterEnd(outcome="Failed")),
        ([5, "Failed"], SubmitterEnd()),
    ],
)
def test_a_submitter_has_ended_by_its_first_final_condition(
    conditions: list[Any] | None, end: SubmitterEnd
) -> None:
    assert submitter_end({"status": {"conditions": conditions}}) == end


AT = "2026-11-21T12:00:07Z"
ENDED_WELL = {"terminated": {"exitCode": 0, "finishedAt": AT}}
ENDED_ILL = {"terminated": {"exitCode": 7, "reason": "Error", "finishedAt": AT}}
RUNS: dict[str, Any] = {"running": {}}
FINISHED = datetime(2026, 11, 21, 12, 0, 7, tzinfo=UTC)
USED_UP = (
    "Ray head pod submitter container ray-job-submitter terminated after exceeding the maximum "
    "restart count"
)
ILL = "Ray head pod container ray-job-submitter terminated with exit code 7: Error"


def head_pod(*, policy: str = "", beside: bool = True, **status: Any) -> dict[str, Any]:  # noqa: ANN401 any JSON
    """Return a head's Pod with the submitter beside Ray's container."""
    submitter = {"name": "ray-job-submitter", **({"restartPolicy": policy} if policy else {})}
    ray = {"name": "ray-head", "state": ENDED_ILL, "restartCount": 9}
    said = [ray, {"name": "ray-job-submitter", **status}] if beside else [ray]
    spec = {"containers": [{"name": "ray-head", "restartPolicy": "OnFailure"}, submitter]}
    return {"spec": spec, "status": {"containerStatuses": said}}


@pytest.mark.parametrize(
    ("rule", "pod", "end"),
    [
        ("one that is not there has not ended", head_pod(beside=False), SubmitterEnd()),
        ("nor has one that runs", head_pod(state=RUNS, restartCount=0), SubmitterEnd()),
        (
            "exit code 0 is a success",
            head_pod(state=ENDED_WELL),
            SubmitterEnd(outcome="Complete", finished_at=FINISHED),
        ),
        (
            "another one a failure",
            head_pod(state=ENDED_ILL),
            SubmitterEnd(outcome="Failed", finished_at=FINISHED, message=ILL),
        ),
        (
            "not where it is started again",
            head_pod(state=ENDED_ILL, policy="OnFailure"),
            SubmitterEnd(),
        ),
        (
            "nor while that is not used up",
            head_pod(state=RUNS, lastState=ENDED_ILL, restartCount=1, policy="OnFailure"),
            SubmitterEnd(),
        ),
        (
            "but once it is",
            head_pod(state=RUNS, lastState=ENDED_ILL, restartCount=2, policy="OnFailure"),
            SubmitterEnd(outcome="Failed", finished_at=FINISHED, message=USED_UP),
        ),
        (
            "a last run that succeeds is a success all the same",
            head_pod(state=ENDED_WELL, lastState=ENDED_ILL, restartCount=2, policy="OnFailure"),
            SubmitterEnd(outcome="Complete", finished_at=FINISHED),
        ),
        (
            "what was started anew by itself has not failed",
            head_pod(state=RUNS, restartCount=3),
            SubmitterEnd(),
        ),
    ],
)
def test_how_the_submitter_beside_the_head_ended(
    rule: str, pod: dict[str, Any], end: SubmitterEnd
) -> None:
    del rule
    assert sidecar_end(pod) == end


def submitter_with(*variables: dict[str, Any]) -> dict[str, Any]:
    containers = [{"name": "ray-job-submitter", "env": list(variables)}, {"name": "beside"}]
    return {"spec": {"template": {"spec": {"containers": containers}}}}


NAMED = {"name": "RAY_JOB_SUBMISSION_ID", "value": "train-x7k2p"}


@pytest.mark.parametrize(
    ("job", "submission"),
    [
        (submitter_with({"name": "HOME", "value": "/"}, NAMED), "train-x7k2p"),
        (submitter_with({**NAMED, "value": "the user's"}, NAMED), "train-x7k2p"),
        (submitter_with({"name": "RAY_JOB_SUBMISSION_ID", "valueFrom": {}}), ""),
        (submitter_with(), ""),
        ({"spec": {"template": {"spec": {"containers": "none"}}}}, ""),
        ({}, ""),
    ],
)
def test_a_submitter_says_by_its_environment_what_it_hands_in(
    job: dict[str, Any], submission: str
) -> None:
    assert submission_of(job) == submission


@pytest.mark.parametrize(
    ("shown", "within"),
    [
        ("a-head-svc.ml.svc.cluster.local:8265", "a-head-svc.ml.svc.cluster.local:8265"),
        ("a-head-svc.prod.svc.cluster.local:8265", "a-head-svc.ml.svc.cluster.local:8265"),
        ("a-head-svc.prod.svc.corp.example:9999", "a-head-svc.ml.svc.corp.example:9999"),
        ("a-head-svc.prod.svc:8265", "a-head-svc.ml.svc:8265"),
        ("http://a-head-svc.prod.svc:8265", "http://a-head-svc.ml.svc:8265"),
        ("a-head-svc:8265", "a-head-svc:8265"),
        ("10.0.0.1:8265", "10.0.0.1:8265"),
        ("", ""),
    ],
)
def test_an_address_in_another_namespace_is_taken_for_the_one_here(shown: str, within: str) -> None:
    assert address_within("ml", shown) == within
