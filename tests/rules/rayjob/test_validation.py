"""A RayJob is valid, or the first thing that is wrong with it is named as upstream names it."""

import json
from typing import NamedTuple

import pytest

from jobledger.core.rayjob.observations.observations import Problem
from jobledger.core.rayjob.validation.validate import validate
from tests.rules.rayjob.jobs import HEAD_POD, WORKERS, Change, rayjob, selecting
from tests.rules.rayjob.upstream import sample, sample_names

METADATA, SPEC, STATUS = "InvalidRayJobMetadata", "InvalidRayJobSpec", "InvalidRayJobStatus"
SAYS = "The RayJob spec is invalid: "
FINISHED = {"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteNone"}}
DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


class Row(NamedTuple):
    rule: str
    change: Change
    message: str = ""
    """Empty: the job is valid."""
    kind: str = SPEC
    selects: bool = False
    """Whether the job runs on an existing RayCluster."""


UPSTREAM = (
    Row("1: a name may have 47 characters", {"metadata.name": "a" * 47}),
    Row(
        "1: a name may not have 48 characters",
        {"metadata.name": "a" * 48},
        "The RayJob metadata is invalid: RayJob name should be no more than 47 characters",
        METADATA,
    ),
    Row(
        "2: a name is a DNS-1035 label",
        {"metadata.name": "7-days"},
        "The RayJob metadata is invalid: RayJob name should be a valid DNS1035 label: "
        f"[{DNS_1035}]",
        METADATA,
    ),
    Row(
        "metadata comes before the specification",
        {"metadata.name": "A", "spec.suspend": True},
        "The RayJob metadata is invalid: RayJob name should be a valid DNS1035 label: "
        f"[{DNS_1035}]",
        METADATA,
    ),
    Row(
        "3: only a job that shuts its cluster down can be suspended",
        {"spec.suspend": True},
        f"{SAYS}a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended",
    ),
    Row(
        "3: a job that shuts its cluster down can be suspended",
        {"spec.suspend": True, "spec.shutdownAfterJobFinishes": True},
    ),
    Row(
        "4: the TTL is not negative",
        {"spec.ttlSecondsAfterFinished": -1},
        f"{SAYS}TTLSecondsAfterFinished must be a non-negative integer",
    ),
    Row(
        "6: a job on a selected cluster cannot be suspended",
        {"spec.suspend": True, "spec.shutdownAfterJobFinishes": True},
        f"{SAYS}the ClusterSelector mode doesn't support the suspend operation",
        selects=True,
    ),
    Row(
        "7: a job needs a cluster",
        {"spec.rayClusterSpec": None},
        f"{SAYS}one of RayClusterSpec or ClusterSelector must be set",
    ),
    Row(
        "7: an empty selector selects nothing",
        {"spec.rayClusterSpec": None, "spec.clusterSelector": {}},
        f"{SAYS}one of RayClusterSpec or ClusterSelector must be set",
    ),
    Row("8: a job may run on a selected cluster", {}, selects=True),
    Row(
        "8: a selector names the cluster",
        {"spec|clusterSelector|ray.io/cluster": "", "spec.clusterSelector.team": "ml"},
        "cluster name in ClusterSelector should not be empty",
        selects=True,
    ),
    Row(
        "8: a selected cluster has no room for a sidecar",
        {"spec.submissionMode": "SidecarMode"},
        "ClusterSelector is not supported in SidecarMode",
        selects=True,
    ),
    Row(
        "8: a job on a selected cluster is not retried",
        {"spec.backoffLimit": 1},
        f"{SAYS}BackoffLimit is incompatible with ClusterSelector mode",
        selects=True,
    ),
    Row(
        "9: an interactive job is not retried",
        {"spec.submissionMode": "InteractiveMode", "spec.backoffLimit": 1},
        f"{SAYS}BackoffLimit is incompatible with InteractiveMode",
    ),
    Row(
        "9: a backoffLimit of 0 is none",
        {"spec.submissionMode": "InteractiveMode", "spec.backoffLimit": 0},
    ),
    Row(
        "10: a sidecar takes no template",
        {"spec.submissionMode": "SidecarMode", "spec.submitterPodTemplate": {}},
        "Currently, SidecarMode doesn't support SubmitterPodTemplate",
    ),
    Row(
        "10: a sidecar takes no submitterConfig",
        {"spec.submissionMode": "SidecarMode", "spec.submitterConfig": {}},
        "Currently, SidecarMode doesn't support SubmitterConfig",
    ),
    Row(
        "10: the head beside a sidecar is never restarted",
        {"spec.submissionMode": "SidecarMode", f"{HEAD_POD}.restartPolicy": "Always"},
        "restartPolicy for head Pod should be Never or unset when using SidecarMode",
    ),
    Row("unknown submission modes are valid", {"spec.submissionMode": "MyMode"}),
    Row(
        "13: the active deadline is positive",
        {"spec.activeDeadlineSeconds": 0},
        f"{SAYS}activeDeadlineSeconds must be a positive integer",
    ),
    Row(
        "14: the pre-running deadline is positive",
        {"spec.preRunningDeadlineSeconds": 0},
        f"{SAYS}preRunningDeadlineSeconds must be a positive integer",
    ),
    Row(
        "15: the backoffLimit is not negative (upstream's text says positive)",
        {"spec.backoffLimit": -(2**31)},
        f"{SAYS}backoffLimit must be a positive integer",
    ),
    Row(
        "16: only an interactive job waits",
        {"status.jobDeploymentStatus": "Waiting"},
        "The RayJob status is invalid: JobDeploymentStatus cannot be `Waiting` "
        "when SubmissionMode is not InteractiveMode",
        STATUS,
    ),
    Row(
        "16: an interactive job may wait",
        {"status.jobDeploymentStatus": "Waiting", "spec.submissionMode": "InteractiveMode"},
    ),
    Row(
        "the specification comes before the status",
        {"status.jobDeploymentStatus": "Waiting", "spec.backoffLimit": -1},
        f"{SAYS}backoffLimit must be a positive integer",
    ),
)


def _verdict(row: Row) -> Problem | None:
    return validate(selecting(row.change) if row.selects else rayjob(row.change))


def _expected(row: Row) -> Problem | None:
    return Problem(kind=row.kind, message=row.message) if row.message else None


@pytest.mark.parametrize("row", UPSTREAM, ids=lambda row: row.rule)
def test_upstreams_rules(row: Row) -> None:
    assert _verdict(row) == _expected(row)


OURS = (
    Row(
        "a submission id has no character that ends a path",
        {"spec.jobId": "a/b"},
        f"{SAYS}spec.jobId is 'a/b'; it becomes part of a URL of the Ray job API: leave out '/', "
        "'?', '#', '%', spaces and control characters",
    ),
    Row(
        "a submission id is not a step to another path",
        {"spec.jobId": ".."},
        f"{SAYS}spec.jobId is '..'; it becomes part of a URL of the Ray job API: leave out '/', "
        "'?', '#', '%', spaces and control characters",
    ),
    Row("a submission id may be any other text", {"spec.jobId": "raysubmit_1.2-é"}),
    Row(
        "a submission mode fits into a label",
        {"spec.submissionMode": "my mode"},
        f"{SAYS}spec.submissionMode is 'my mode', which cannot be a label of the RayCluster; "
        "write K8sJobMode, HTTPMode, InteractiveMode or SidecarMode",
    ),
    Row(
        "a submitter's template has a container",
        {"spec.submitterPodTemplate": {"spec": {"containers": []}}},
        f"{SAYS}spec.submitterPodTemplate.spec.containers is empty; add the container that "
        "submits the job, or leave out spec.submitterPodTemplate",
    ),
    Row(
        "custom resources are a JSON object",
        {"spec.entrypointResources": "[1]", "spec.submissionMode": "HTTPMode"},
        f"{SAYS}spec.entrypointResources is '[1]'; write a JSON object of names and numbers, "
        'such as {"accelerator": 1}',
    ),
    Row(
        "custom resources are numbers",
        {"spec.entrypointResources": '{"tpu": "1"}'},
        f'{SAYS}spec.entrypointResources is \'{{"tpu": "1"}}\'; write a JSON object of names '
        'and numbers, such as {"accelerator": 1}',
    ),
    Row(
        "custom resources do not matter where nobody submits them",
        {"spec.entrypointResources": "?", "spec.submissionMode": "InteractiveMode"},
    ),
    Row(
        "custom resources do not matter to a submitter with a command of its own",
        {
            "spec.entrypointResources": "?",
            "spec.submitterPodTemplate": {"spec": {"containers": [{"command": ["sh"]}]}},
        },
    ),
    Row(
        "metadata needs Ray 2.6.0",
        {"spec.metadata": {"team": "ml"}, "spec.rayClusterSpec.rayVersion": "2.5.1"},
        f"{SAYS}the Ray version must be at least 2.6.0 to use the metadata field; "
        "spec.rayClusterSpec.rayVersion is '2.5.1': correct it, or leave out spec.metadata",
    ),
    Row(
        "metadata needs a Ray version that upstream can read",
        {"spec.metadata": {"team": "ml"}, "spec.rayClusterSpec.rayVersion": "nightly"},
        f"{SAYS}failed to parse Ray version: nightly: invalid semantic version; "
        "spec.rayClusterSpec.rayVersion is 'nightly': correct it, or leave out spec.metadata",
    ),
    Row(
        "metadata needs a Ray version of numbers that fit",
        {"spec.metadata": {"team": "ml"}, "spec.rayClusterSpec.rayVersion": "18446744073709551616"},
        f"{SAYS}failed to parse Ray version: 18446744073709551616: error parsing version segment; "
        "spec.rayClusterSpec.rayVersion is '18446744073709551616': correct it, or leave out "
        "spec.metadata",
    ),
    Row(
        "metadata is fine without a Ray version",
        {"spec.metadata": {"team": "ml"}, "spec.rayClusterSpec.rayVersion": None},
    ),
    Row(
        "metadata of an HTTP submission is Ray's business",
        {
            "spec.metadata": {"team": "ml"},
            "spec.rayClusterSpec.rayVersion": "2.5.1",
            "spec.submissionMode": "HTTPMode",
        },
    ),
)


@pytest.mark.parametrize("row", OURS, ids=lambda row: row.rule)
def test_our_rules_about_what_fields_hold(row: Row) -> None:
    assert _verdict(row) == _expected(row)


def test_12_a_broken_runtime_env_is_named_without_its_text() -> None:
    problem = validate(rayjob(runtimeEnvYAML="password: [hunter2"), "line 1: unclosed list")
    assert problem == Problem(
        kind=SPEC,
        message="failed to unmarshal RuntimeEnvYAML: (not shown): line 1: unclosed list",
    )


def test_12_a_broken_runtime_env_comes_before_the_deadlines() -> None:
    problem = validate(rayjob(activeDeadlineSeconds=0), "no map")
    assert problem is not None
    assert problem.message.endswith("(not shown): no map")


def test_upstreams_rules_come_before_ours() -> None:
    problem = validate(rayjob(backoffLimit=-1, jobId="a/b", entrypoint=5))
    assert problem == Problem(kind=SPEC, message=f"{SAYS}backoffLimit must be a positive integer")


@pytest.mark.parametrize("name", sample_names())
def test_every_sample_of_upstream_is_valid(name: str) -> None:
    job = sample(name)
    assert validate(job) is None
    assert json.dumps(job)


def test_without_the_servers_defaults_it_would_not_be() -> None:
    """The CRD fills in the limits of worker groups; upstream refuses the same object without."""
    problem = validate(rayjob({f"{WORKERS}.minReplicas": None}))
    assert problem is not None
    assert "must set both minReplicas and maxReplicas" in problem.message
