"""Hosts, slots and mounts of an MPI job."""

from typing import Any

import pytest

from jobledger.core.trainjob.building.framework import ApplyRule, BuildFailed
from tests.rules.trainjob.plugins.runtimes import (
    OWNER,
    container,
    jobset,
    names,
    objects,
    pod,
    replicated_job,
    runtime,
    trainjob,
)

MPI: dict[str, Any] = {
    "numNodes": 1,
    "mpi": {"sshAuthMountPath": "/home/me/.ssh", "runLauncherAsNode": True},
}
JOBS = (
    replicated_job(ancestor="", command=["sshd"]),
    replicated_job("launcher", dependsOn=[]),
)
ON = runtime(*JOBS, policy=MPI)


def hosts(job: dict[str, Any], on: dict[str, Any]) -> str:
    built = objects(job, on)["ConfigMap/train-mpi-hostfile"]
    data = built.manifest["data"]
    assert isinstance(data, dict)
    return str(data["hostfile"])


def test_the_objects_come_before_the_jobset_that_mounts_them() -> None:
    built = objects(trainjob(trainer={"numNodes": 3}), ON)
    assert list(built) == [
        "Secret/train-mpi-ssh-auth",
        "ConfigMap/train-mpi-hostfile",
        "JobSet/train",
    ]
    secret = built["Secret/train-mpi-ssh-auth"]
    assert (secret.rule, secret.keys) == (ApplyRule.ONCE, "ssh")
    assert secret.manifest == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "train-mpi-ssh-auth",
            "namespace": "ml",
            "ownerReferences": [OWNER],
        },
        "type": "kubernetes.io/ssh-auth",
        "immutable": True,
    }
    assert built["ConfigMap/train-mpi-hostfile"].rule is ApplyRule.ALWAYS


def test_the_launcher_is_one_of_the_nodes_where_the_runtime_says_so() -> None:
    job = trainjob(trainer={"numNodes": 3, "numProcPerNode": 2})
    assert hosts(job, ON) == (
        "train-node-0-0.train slots=2\n"
        "train-node-0-1.train slots=2\n"
        "train-launcher-0-0.train slots=2\n"
    )
    jobs = jobset(job, ON)["spec"]["replicatedJobs"]
    assert [item["template"]["spec"]["parallelism"] for item in jobs] == [2, 1]


def test_else_it_is_none() -> None:
    on = runtime(*JOBS, policy={"mpi": {"numProcPerNode": 4}}, network={"subdomain": "here"})
    assert hosts(trainjob(trainer={"numNodes": 2}), on) == (
        "train-node-0-0.here slots=4\ntrain-node-0-1.here slots=4\n"
    )


def test_slots_are_the_gpus_where_nobody_says_more() -> None:
    trainer = {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}
    assert hosts(trainjob(trainer=trainer), ON).splitlines()[0].endswith("slots=8")


def test_keys_and_hosts_are_mounted() -> None:
    built = jobset(trainjob(trainer={"numNodes": 2, "command": ["mpirun"]}), ON)
    ssh = {"name": "mpi-ssh-auth", "mountPath": "/home/me/.ssh"}
    assert container(built)["volumeMounts"] == [ssh]
    assert container(built)["command"] == ["sshd"]
    launcher = container(built, 1)
    assert launcher["command"] == ["mpirun"]
    assert launcher["volumeMounts"] == [ssh, {"name": "mpi-hostfile", "mountPath": "/etc/mpi"}]
    assert launcher["env"] == [
        {"name": "OMPI_MCA_orte_default_hostfile", "value": "/etc/mpi/hostfile"},
        {"name": "OMPI_MCA_orte_keep_fqdn_hostnames", "value": "true"},
        {"name": "OMPI_MCA_orte_set_default_slots", "value": "1"},
        {"name": "OMPI_MCA_plm_rsh_args", "value": "-o ConnectionAttempts=10"},
    ]
    assert names(pod(built)["volumes"]) == ["mpi-ssh-auth"]
    assert pod(built, 1)["volumes"] == [
        {
            "name": "mpi-ssh-auth",
            "secret": {
                "secretName": "train-mpi-ssh-auth",
                "defaultMode": 0o400,
                "items": [
                    {"key": "ssh-privatekey", "path": "id_rsa", "mode": 0o640},
                    {"key": "ssh-publickey", "path": "id_rsa.pub", "mode": 0o644},
                    {"key": "ssh-publickey", "path": "authorized_keys", "mode": 0o644},
                ],
            },
        },
        {
            "name": "mpi-hostfile",
            "configMap": {
                "name": "train-mpi-hostfile",
                "items": [{"key": "hostfile", "path": "hostfile", "mode": 0o444}],
            },
        },
    ]


def test_the_trainers_environment_reaches_the_nodes_too() -> None:
    trainer = {"env": [{"name": "A", "value": "1"}], "resourcesPerNode": {"limits": {"cpu": 1}}}
    built = jobset(trainjob(trainer=trainer), ON)
    assert container(built)["env"] == [{"name": "A", "value": "1"}]
    assert container(built)["resources"] == {"limits": {"cpu": 1}}


@pytest.mark.parametrize(
    ("trainer", "on", "problem"),
    [
        (
            {"env": [{"name": "OMPI_MCA_plm_rsh_args", "value": "x"}]},
            ON,
            "invalid envs configured: [OMPI_MCA_plm_rsh_args]",
        ),
        ({"numNodes": 2}, runtime(policy=MPI), "needs a replicatedJob 'launcher'"),
        (
            {},
            runtime(*JOBS, policy={"mpi": {"mpiImplementation": "Intel"}}),
            "MPI implementation Intel does not work",
        ),
    ],
)
def test_what_cannot_be_is_told(trainer: dict[str, Any], on: dict[str, Any], problem: str) -> None:
    with pytest.raises(BuildFailed) as caught:
        jobset(trainjob(trainer=trainer), on)
    assert caught.value.plugin == "mpi"
    assert problem in caught.value.cause


def test_more_hosts_than_a_configmap_can_name_are_refused_before_they_are_listed() -> None:
    with pytest.raises(BuildFailed, match=r"a hostfile of \d+ hosts is larger than a ConfigMap"):
        objects(trainjob(trainer={"numNodes": 2**31 - 1}), ON)
