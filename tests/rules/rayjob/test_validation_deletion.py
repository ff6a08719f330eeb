"""What may be said about deletion after the end, and how upstream refuses the rest."""

from typing import Any, NamedTuple

import pytest

from jobledger.core.rayjob.observations.observations import Problem
from jobledger.core.rayjob.validation.validate import validate
from tests.rules.rayjob.jobs import rayjob, selecting

SAYS = "The RayJob spec is invalid: "


def legacy(success: str = "DeleteCluster", failure: str = "DeleteNone") -> dict[str, Any]:
    return {"onSuccess": {"policy": success}, "onFailure": {"policy": failure}}


def rule(policy: str, ttl: int = 0, **condition: str) -> dict[str, Any]:
    condition = condition or {"jobStatus": "FAILED"}
    return {"policy": policy, "condition": {**condition, "ttlSeconds": ttl}}


class Row(NamedTuple):
    rule: str
    strategy: dict[str, Any] | None
    message: str = ""
    spec: dict[str, Any] | None = None
    selects: bool = False


SHUTDOWN = {"shutdownAfterJobFinishes": True}
ROWS = (
    Row(
        "5a: a delay without a shutdown means nothing",
        None,
        f"{SAYS}a RayJob with shutdownAfterJobFinishes set to false "
        "cannot have TTLSecondsAfterFinished",
        {"ttlSecondsAfterFinished": 5},
    ),
    Row(
        "5a: a delay of the shutdown is fine", None, "", {"ttlSecondsAfterFinished": 5, **SHUTDOWN}
    ),
    Row(
        "5c: rules and a shutdown exclude each other",
        {"deletionRules": [rule("DeleteSelf")]},
        f"{SAYS}spec.shutdownAfterJobFinishes and spec.deletionStrategy.deletionRules "
        "are mutually exclusive",
        SHUTDOWN,
    ),
    Row(
        "5d: rules and the old policies exclude each other",
        {**legacy(), "deletionRules": [rule("DeleteSelf")]},
        f"{SAYS}Cannot use both legacy onSuccess/onFailure fields and deletionRules simultaneously",
    ),
    Row("5e: both old policies are fine", legacy()),
    Row(
        "5e: one of the old policies is not enough",
        {"onSuccess": {"policy": "DeleteSelf"}},
        "both DeletionStrategy.OnSuccess and DeletionStrategy.OnFailure must be set "
        "when using the legacy deletion policy fields of DeletionStrategy",
    ),
    Row(
        "5e: the policy after success must be named",
        {"onSuccess": {}, "onFailure": {}},
        "the DeletionPolicyType field of DeletionStrategy.OnSuccess cannot be unset "
        "when DeletionStrategy is enabled",
    ),
    Row(
        "5e: the policy after failure must be named",
        {"onSuccess": {"policy": "DeleteSelf"}, "onFailure": {}},
        "the DeletionPolicyType field of DeletionStrategy.OnFailure cannot be unset "
        "when DeletionStrategy is enabled",
    ),
    Row(
        "5e: a selected cluster is not deleted after success",
        legacy("DeleteCluster", "DeleteWorkers"),
        "the ClusterSelector mode doesn't support DeletionStrategy=DeleteCluster on success",
        selects=True,
    ),
    Row(
        "5e: a selected cluster is not touched after failure",
        legacy("DeleteNone", "DeleteWorkers"),
        "the ClusterSelector mode doesn't support DeletionStrategy=DeleteWorkers on failure",
        selects=True,
    ),
    Row(
        "5e: workers of a cluster that scales itself come back",
        legacy("DeleteWorkers"),
        "DeletionStrategy=DeleteWorkers currently does not support "
        "RayCluster with autoscaling enabled",
        {"rayClusterSpec": {"enableInTreeAutoscaling": True}},
    ),
    Row(
        "5e: to delete nothing is no shutdown (upstream's spelling)",
        legacy(),
        f"{SAYS}shutdownAfterJobFinshes is set to 'true' while deletion policy is 'DeleteNone'",
        SHUTDOWN,
    ),
    Row(
        "5f: a rule has one condition, not two",
        {"deletionRules": [rule("DeleteSelf", jobStatus="FAILED", jobDeploymentStatus="Failed")]},
        "deletionRules[0]: cannot set both JobStatus and JobDeploymentStatus at the same time",
    ),
    Row(
        "5f: a rule has one condition, not none",
        {"deletionRules": [{"policy": "DeleteSelf", "condition": {"ttlSeconds": 3}}]},
        "deletionRules[0]: exactly one of JobStatus and JobDeploymentStatus must be set",
    ),
    Row(
        "5f: a rule's delay is not negative",
        {"deletionRules": [rule("DeleteSelf", -1)]},
        "deletionRules[0]: TTLSeconds must be non-negative",
    ),
    Row(
        "5f: a rule does not touch a selected cluster",
        {"deletionRules": [rule("DeleteCluster")]},
        "deletionRules[0]: DeletionPolicyType 'DeleteCluster' not supported "
        "when ClusterSelector is set",
        selects=True,
    ),
    Row(
        "5f: a rule does not delete workers that come back",
        {"deletionRules": [rule("DeleteWorkers")]},
        "deletionRules[0]: DeletionPolicyType 'DeleteWorkers' not supported "
        "with autoscaling enabled",
        {"rayClusterSpec": {"enableInTreeAutoscaling": True}},
    ),
    Row(
        "5f: no rule stands twice",
        {
            "deletionRules": [
                rule("DeleteSelf", 1),
                rule("DeleteSelf", 2),
                rule("DeleteSelf", 1, jobDeploymentStatus="Failed"),
                rule("DeleteSelf", 2, jobDeploymentStatus="Failed"),
            ]
        },
        "deletionRules[1]: duplicate rule for DeletionPolicyType 'DeleteSelf' "
        "and JobStatus 'FAILED'\n"
        "deletionRules[3]: duplicate rule for DeletionPolicyType 'DeleteSelf' "
        "and JobDeploymentStatus 'Failed'",
    ),
    Row(
        "5f: what deletes more does not come earlier; all problems are told, JobStatus first",
        {
            "deletionRules": [
                rule("DeleteSelf", 1, jobDeploymentStatus="Failed"),
                rule("DeleteWorkers", 9, jobDeploymentStatus="Failed"),
                rule("DeleteSelf", 10),
                rule("DeleteCluster", 20),
                rule("DeleteWorkers", 30),
                rule("DeleteSelf", -1, jobStatus="SUCCEEDED"),
            ]
        },
        "deletionRules[5]: TTLSeconds must be non-negative\n"
        "for JobStatus 'FAILED': DeleteCluster TTL (20) must be >= DeleteWorkers TTL (30)\n"
        "for JobStatus 'FAILED': DeleteSelf TTL (10) must be >= DeleteCluster TTL (20)\n"
        "for JobDeploymentStatus 'Failed': DeleteSelf TTL (1) must be >= DeleteWorkers TTL (9)",
    ),
    Row(
        "5f: equal delays are fine",
        {"deletionRules": [rule("DeleteWorkers", 5), rule("DeleteCluster", 5)]},
    ),
    Row(
        "5g: an empty strategy is none",
        {},
        f"{SAYS}DeletionStrategy requires either BOTH onSuccess and onFailure, "
        "OR the deletionRules field (cannot be empty)",
    ),
    Row(
        "5g: an empty list of rules is none",
        {"deletionRules": []},
        f"{SAYS}DeletionStrategy requires either BOTH onSuccess and onFailure, "
        "OR the deletionRules field (cannot be empty)",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_deletion(row: Row) -> None:
    job = selecting() if row.selects else rayjob()
    job["spec"] |= {} if row.strategy is None else {"deletionStrategy": row.strategy}
    cluster = job["spec"].get("rayClusterSpec", {})
    for field, value in (row.spec or {}).items():
        job["spec"][field] = {**cluster, **value} if field == "rayClusterSpec" else value
    found = validate(job)
    kind = "InvalidRayJobSpec"
    assert found == (Problem(kind=kind, message=row.message) if row.message else None)
