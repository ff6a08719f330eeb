"""The JobSet that is built, field by field."""

from typing import Any

import pytest

from jobledger.core.trainjob.building.framework import ApplyRule, BuildFailed
from jobledger.core.trainjob.plugins.jobset import JobSet
from jobledger.core.values.documents import Manifest
from tests.rules.trainjob.plugins.runtimes import (
    OWNER,
    TRAINER_LABEL,
    container,
    jobset,
    names,
    objects,
    pod,
    replicated_job,
    runtime,
    trainjob,
)

INITIALIZERS = (
    replicated_job(
        "dataset-initializer",
        ancestor="dataset-initializer",
        container="dataset-initializer",
        env=[{"name": "STORAGE_URI", "value": "hf://default"}],
        volumeMounts=[{"name": "initializer", "mountPath": "/workspace"}],
    ),
    replicated_job(
        "model-initializer",
        ancestor="model-initializer",
        container="model-initializer",
        volumeMounts=[{"name": "initializer", "mountPath": "/workspace"}],
    ),
    replicated_job(),
)


TRAINING = trainjob(
    suspend=True,
    trainer={
        "image": "mine",
        "command": ["python"],
        "args": ["train.py"],
        "numNodes": 3,
        "env": [{"name": "LR", "value": "0.1"}],
        "resourcesPerNode": {"requests": {"cpu": 2}, "limits": {"memory": "1Gi"}},
    },
)
PLACE = runtime(
    replicated_job(
        resources={"requests": {"cpu": 1, "memory": "512Mi"}, "claims": [{"name": "c"}]},
        env=[{"name": "HOME", "value": "/tmp"}],
    ),
    network={"subdomain": "here"},
    failurePolicy={"maxRestarts": 2},
)
CONTAINER = {
    "name": "node",
    "image": "mine",
    "command": ["python"],
    "args": ["train.py"],
    "env": [{"name": "HOME", "value": "/tmp"}, {"name": "LR", "value": "0.1"}],
    "resources": {
        "requests": {"cpu": 2, "memory": "512Mi"},
        "limits": {"memory": "1Gi"},
        "claims": [{"name": "c"}],
    },
}


def test_the_whole_of_it() -> None:
    built = objects(TRAINING, PLACE)
    assert list(built) == ["JobSet/train"]
    assert built["JobSet/train"].rule is ApplyRule.JOBSET
    job = {
        "parallelism": 3,
        "completions": 3,
        "template": {"spec": {"containers": [CONTAINER]}},
    }
    assert built["JobSet/train"].manifest == {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": "train",
            "namespace": "ml",
            "labels": {"from": "runtime"},
            "ownerReferences": [OWNER],
        },
        "spec": {
            "network": {"subdomain": "here"},
            "failurePolicy": {"maxRestarts": 2},
            "suspend": True,
            "replicatedJobs": [
                {
                    "name": "node",
                    "replicas": 1,
                    "template": {"metadata": {"labels": TRAINER_LABEL}, "spec": job},
                }
            ],
        },
    }


def test_without_a_trainer_the_runtime_runs_as_it_is() -> None:
    built = jobset(trainjob(), runtime(policy={"numNodes": 2}))
    assert container(built) == {"name": "node", "image": "busybox"}
    job = built["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert (job["parallelism"], job["completions"]) == (2, 2)
    assert "suspend" not in built["spec"]  # as in the TrainJob


def test_empty_lists_clear_the_runtimes_command_and_args() -> None:
    on = runtime(replicated_job(command=["run"], args=["x"]))
    built = jobset(trainjob(trainer={"command": [], "args": []}), on)
    assert (container(built)["command"], container(built)["args"]) == ([], [])


def test_a_patch_that_adds_a_job_adds_it() -> None:
    """Upstream judges the template as patched, where the job is there."""
    built = jobset(patched(name="other"), runtime())
    assert sorted(item["name"] for item in built["spec"]["replicatedJobs"]) == ["node", "other"]


def test_args_alone_keep_the_runtimes_command() -> None:
    built = jobset(trainjob(trainer={"args": ["x"]}), runtime(replicated_job(command=["run"])))
    assert (container(built)["command"], container(built)["args"]) == (["run"], ["x"])


def test_no_nodes_are_no_pods() -> None:
    built = jobset(trainjob(trainer={"numNodes": 0}), runtime())
    assert built["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 0


def test_no_replicas_and_no_group_are_what_jobset_makes_of_none() -> None:
    helper = {**replicated_job("helper", ancestor=""), "replicas": 0, "groupName": ""}
    other = {**replicated_job("other", ancestor=""), "replicas": 2, "groupName": "own"}
    built = jobset(trainjob(), runtime(helper, other, replicated_job()))
    counted = [
        (one.get("replicas"), one.get("groupName")) for one in built["spec"]["replicatedJobs"]
    ]
    assert counted == [(None, None), (2, "own"), (1, None)]


def test_policies_that_never_change_are_said_as_trainer_says_them() -> None:
    given = runtime(replicated_job())
    rule = {"name": "again", "action": "RestartJobSet", "targetReplicatedJobs": []}
    given["spec"]["template"]["spec"] |= {
        "failurePolicy": {"maxRestarts": 0, "rules": [rule]},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": []},
        "network": {"subdomain": ""},
    }
    spec = jobset(trainjob(), given)["spec"]
    assert spec["failurePolicy"] == {"rules": [{"name": "again", "action": "RestartJobSet"}]}
    assert spec["successPolicy"] == {"operator": "All"}
    assert spec["network"] == {"subdomain": ""}, "all else is as it is written"
    given["spec"]["template"]["spec"]["failurePolicy"] = {"maxRestarts": 3}
    assert jobset(trainjob(), given)["spec"]["failurePolicy"] == {"maxRestarts": 3}


def test_initializers_get_what_the_job_says_of_them() -> None:
    given = {
        "dataset": {
            "storageUri": "s3://bucket",
            "env": [{"name": "A", "value": "1"}],
            "secretRef": {"name": "token"},
        }
    }
    built = jobset(trainjob(initializer=given), runtime(*INITIALIZERS))
    assert container(built)["env"] == [
        {"name": "STORAGE_URI", "value": "s3://bucket"},
        {"name": "A", "value": "1"},
    ]
    assert container(built)["envFrom"] == [{"secretRef": {"name": "token"}}]
    assert "env" not in container(built, 1)
    found = [item["template"]["spec"]["parallelism"] for item in built["spec"]["replicatedJobs"]]
    assert found == [1, 1, 1]
    assert [item.get("replicas") for item in built["spec"]["replicatedJobs"]] == [1, 1, 1]


PATCH: dict[str, Any] = {
    "manager": "example.org/tuner",
    "time": "2026-01-01T00:00:00Z",
    "trainingRuntimeSpec": {
        "template": {
            "metadata": {"labels": {"from": "patch"}, "annotations": {"queue": "a"}},
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "spec": {
                                "template": {
                                    "metadata": {"labels": {"pod": "yes"}},
                                    "spec": {
                                        "nodeSelector": {"gpu": "b"},
                                        "tolerations": [{"key": "new"}],
                                        "containers": [
                                            {
                                                "name": "node",
                                                "volumeMounts": [
                                                    {"name": "w", "mountPath": "/data"}
                                                ],
                                                "securityContext": {"runAsUser": 7},
                                            }
                                        ],
                                        "volumes": [{"name": "w", "emptyDir": {}}],
                                    },
                                }
                            }
                        },
                    }
                ]
            },
        }
    },
}


def test_patches_are_merged_by_key() -> None:
    template = replicated_job(
        volumeMounts=[{"name": "v", "mountPath": "/data"}, {"name": "u", "mountPath": "/u"}]
    )
    inner = template["template"]["spec"]["template"]["spec"]
    inner |= {
        "nodeSelector": {"zone": "a", "gpu": "a"},
        "tolerations": [{"key": "old"}],
        "volumes": [{"name": "v"}],
    }
    built = jobset(trainjob(runtimePatches=[PATCH]), runtime(replicated_job("first"), template))
    assert names(built["spec"]["replicatedJobs"]) == ["first", "node"]
    assert built["metadata"]["labels"] == {"from": "patch"}
    assert built["metadata"]["annotations"] == {"queue": "a"}
    changed = pod(built, 1)
    assert changed["nodeSelector"] == {"zone": "a", "gpu": "b"}
    assert changed["tolerations"] == [{"key": "new"}]
    assert names(changed["volumes"]) == ["w", "v"]
    assert container(built, 1)["image"] == "busybox"
    assert container(built, 1)["securityContext"] == {"runAsUser": 7}
    assert container(built, 1)["volumeMounts"] == [
        {"name": "w", "mountPath": "/data"},
        {"name": "u", "mountPath": "/u"},
    ]
    labels = built["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["metadata"]
    assert labels == {"labels": {"pod": "yes"}}


def patched(**item: object) -> dict[str, Any]:
    spec = {"replicatedJobs": [{"name": "node", **item}]}
    return trainjob(
        runtimePatches=[
            {"manager": "example.org/a", "trainingRuntimeSpec": {"template": {"spec": spec}}}
        ]
    )


def with_containers(*containers: dict[str, Any]) -> dict[str, Any]:
    inner = {"spec": {"containers": list(containers)}}
    return patched(template={"spec": {"template": inner}})


@pytest.mark.parametrize(
    ("job", "on", "problem"),
    [
        (
            trainjob(initializer={"model": {}}),
            runtime(),
            "must have model-initializer job when trainJob is configured with input model",
        ),
        (
            trainjob(initializer={"dataset": {}}),
            runtime(replicated_job("dataset-initializer", ancestor="dataset-initializer")),
            "must have container with name - dataset-initializer in the dataset-initializer job",
        ),
        (
            trainjob(initializer={"dataset": {}}),
            runtime(
                replicated_job(
                    "dataset-initializer",
                    ancestor="dataset-initializer",
                    container="dataset-initializer",
                )
            ),
            "must have volumeMount with name - initializer",
        ),
        (
            with_containers({"name": "node", "env": [{"name": "A"}]}),
            runtime(),
            "must not have envs for the",
        ),
    ],
)
def test_what_has_no_place_in_the_runtime_is_told(
    job: dict[str, Any], on: dict[str, Any], problem: str
) -> None:
    with pytest.raises(BuildFailed) as caught:
        jobset(job, on)
    assert caught.value.plugin == "jobset"
    assert problem in caught.value.cause


def test_start_and_restarts_of_a_jobset_are_contributed() -> None:
    started = {
        "type": "StartupPolicyInProgress",
        "status": "True",
        "reason": "InOrderStartupPolicyInProgress",
        "message": "in order startup policy is in progress",
        "lastTransitionTime": "2026-11-21T12:00:00Z",
    }
    status: Manifest = {"conditions": [started, {"type": "Completed"}], "restarts": 2}
    found = list(JobSet().conditions({}, {"status": status}))
    assert [(item.type, item.status, item.reason) for item in found] == [
        ("StartupPolicyInProgress", "True", "InOrderStartupPolicyInProgress"),
        ("JobSetRestarted", "True", "JobSetRestarted"),
    ]
    assert found[1].message == "restarts: 2, of which count towards the maximum: 0"
