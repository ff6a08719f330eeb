"""Flux: what the nodes get of it, what runs under it, and what it refuses."""

import tomllib
from typing import Any

import pytest

from jobledger.core.ports.cluster import CONFIGMAPS, SECRETS
from jobledger.core.trainjob.building.framework import ApplyRule, BuildFailed
from jobledger.core.trainjob.plugins.flux_scripts import (
    Broker,
    Run,
    broker_config,
    entrypoint,
    hosts_of,
    installer,
)
from tests.rules.trainjob.plugins.runtimes import (
    OWNER,
    container,
    jobset,
    objects,
    pod,
    replicated_job,
    runtime,
    trainjob,
)

POLICY: dict[str, Any] = {"numNodes": 1, "flux": {"numProcPerNode": 2}}
SCRIPT = ["/bin/bash", "/etc/flux-config/entrypoint.sh"]
INSTALL = {"name": "flux-install", "mountPath": "/mnt/flux"}
SCRIPTS = {
    "name": "train-flux-entrypoint",
    "mountPath": "/etc/flux-config",
    "readOnly": True,
}


def job(**trainer: object) -> dict[str, Any]:
    return trainjob(trainer={"numNodes": 3, **trainer})


def script(name: str, given: dict[str, Any], on: dict[str, Any]) -> str:
    data = objects(given, on)["ConfigMap/train-flux-entrypoint"].manifest["data"]
    assert isinstance(data, dict)
    return str(data[name])


def test_the_objects_come_before_the_jobset_that_mounts_them() -> None:
    built = objects(job(), runtime(policy=POLICY))
    assert list(built) == [
        "ConfigMap/train-flux-entrypoint",
        "Secret/train-flux-curve",
        "JobSet/train",
    ]
    scripts, key = built["ConfigMap/train-flux-entrypoint"], built["Secret/train-flux-curve"]
    assert (scripts.resource, scripts.rule, scripts.keys) == (CONFIGMAPS, ApplyRule.ALWAYS, "")
    assert (key.resource, key.rule, key.keys) == (SECRETS, ApplyRule.ALWAYS, "curve")
    metadata = {"name": "train-flux-curve", "namespace": "ml", "ownerReferences": [OWNER]}
    assert key.manifest == {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def test_the_nodes_get_flux_and_their_command_runs_under_it() -> None:
    prepares = {"name": "prepare", "image": "init:1"}
    node = replicated_job(command=["python", "of-runtime.py"])
    node["template"]["spec"]["template"]["spec"]["initContainers"] = [prepares]
    on = runtime(node, policy=POLICY)
    built = jobset(job(command=["python", "train.py"], args=["--lr=1"]), on)
    assert pod(built) == {
        "initContainers": [
            prepares,
            {
                "name": "flux-installer",
                "image": "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
                "command": ["/bin/bash", "/etc/flux-config/init.sh"],
                "volumeMounts": [INSTALL, SCRIPTS],
            },
        ],
        "containers": [
            {
                "name": "node",
                "image": "busybox",
                "command": [*SCRIPT, "python train.py --lr=1"],
                "volumeMounts": [
                    INSTALL,
                    {"name": "spack-install", "mountPath": "/opt/software"},
                    SCRIPTS,
                    {"name": "flux-curve", "mountPath": "/curve", "readOnly": True},
                    {"name": "shared-memory", "mountPath": "/dev/shm", "readOnly": True},
                ],
            }
        ],
        "volumes": [
            {"name": "spack-install", "emptyDir": {}},
            {"name": "flux-install", "emptyDir": {}},
            {
                "name": "train-flux-entrypoint",
                "configMap": {"name": "train-flux-entrypoint", "defaultMode": 0o755},
            },
            {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
            {
                "name": "flux-curve",
                "secret": {"secretName": "train-flux-curve", "defaultMode": 0o400},
            },
        ],
    }
    assert built["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 3


@pytest.mark.parametrize(
    ("trainer", "command", "args"),
    [
        ({}, "of-runtime -v", ["--of-runtime"]),
        ({"args": ["--mine"]}, "of-runtime -v --mine", ["--of-runtime"]),
        ({"command": [], "args": []}, "", ["--of-runtime"]),
        ({"command": [" run "], "args": ["x "]}, "run  x", ["--of-runtime"]),
    ],
)
def test_the_command_is_the_jobs_else_the_runtimes(
    trainer: dict[str, Any], command: str, args: list[str]
) -> None:
    node = replicated_job(command=["of-runtime", "-v"], args=["--of-runtime"])
    built = container(jobset(job(**trainer), runtime(node, policy=POLICY)))
    assert (built["command"], built["args"]) == ([*SCRIPT, command], args)


@pytest.mark.parametrize(
    ("of_runtime", "of_job", "image"),
    [
        ([{"name": "FLUX_VIEW_IMAGE", "value": "a"}], [], "a"),
        (
            [{"name": "FLUX_VIEW_IMAGE", "value": "a"}],
            [{"name": "FLUX_VIEW_IMAGE", "value": "b"}],
            "b",
        ),
        ([{"name": "FLUX_VIEW_IMAGE", "value": "a"}, {"name": "FLUX_VIEW_IMAGE"}], [], "a"),
        ([], [{"name": "FLUX_VIEW_IMAGE", "valueFrom": {}}], None),
    ],
)
def test_settings_are_the_jobs_variables_else_the_runtimes(
    of_runtime: list[Any], of_job: list[Any], image: str | None
) -> None:
    on = runtime(replicated_job(env=of_runtime), policy=POLICY)
    (installs,) = pod(jobset(job(env=of_job), on))["initContainers"]
    assert installs.get("image") == image


@pytest.mark.parametrize(
    ("trainer", "flags", "resources"),
    [
        ({}, "-N 3 -n 6", "--cores=0-1"),
        ({"numNodes": 1, "numProcPerNode": 1}, "-N 1 -n 1", "--cores=0"),
        (
            {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 1}}},
            "-N 3 -n 6 -g 1",
            "--cores=0-1 --gpu=0",
        ),
        (
            {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}},
            "-N 3 -n 6 -g 4",
            "--cores=0-1 --gpu=0-3",
        ),
    ],
)
def test_flux_is_told_of_nodes_processes_and_gpus(
    trainer: dict[str, Any], flags: str, resources: str
) -> None:
    written = script("entrypoint.sh", job(**trainer), runtime(policy=POLICY))
    assert f"\nflags='{flags}'\n" in written
    assert f'\nflux R encode --hosts="$hosts" {resources} > /tmp/R\n' in written
    assert "\nlead='train-node-0-0'\n" in written


def test_without_a_number_of_processes_there_is_one() -> None:
    written = script("entrypoint.sh", job(), runtime(policy={"flux": {}}))
    assert "\nflags='-N 3 -n 3'\n" in written


def test_nothing_is_left_to_fill_in() -> None:
    run = Run(job="train", nodes=2, processes=2, gpus=0)
    assert all(word not in entrypoint(run) for word in ("{lead}", "{flags}", "{resources}"))


@pytest.mark.parametrize(("nodes", "hosts"), [(1, "train-node-0-[0]"), (3, "train-node-0-[0-2]")])
def test_hosts_are_listed_as_flux_lists_them(nodes: int, hosts: str) -> None:
    assert hosts_of("train", nodes) == hosts


@pytest.mark.parametrize(
    "value",
    ["fcfs", 'a"b\\', "END_OF_BROKER", "a\nEND_OF_BROKER\nrm x", "ü\x7f", "$(rm x) `rm x` $x"],
)
def test_a_setting_is_text_and_nothing_but_text(value: str) -> None:
    """On one line, in a document that the shell writes as it is: no value ends it.

    Of a document whose delimiter is quoted the shell expands nothing (POSIX, 2.7.4 Here-Document).
    """
    broker = Broker(job="train", namespace="ml", hosts="h", device=value, queue=value)
    written = broker_config(broker)
    told = tomllib.loads(written)
    assert told["sched-fluxion-qmanager"] == {"queue-policy": value}
    assert told["bootstrap"] == {
        "curve_cert": "/mnt/flux/config/etc/curve/curve.cert",
        "default_port": 8050,
        "default_bind": f"tcp://{value}:%p",
        "default_connect": "tcp://%h.train.ml.svc.cluster.local:%p",
        "hosts": [{"host": "h"}],
    }
    assert "END_OF_BROKER" not in written.splitlines()
    assert f"<<'END_OF_BROKER'\n{written}\nEND_OF_BROKER\n" in installer(broker)


RESERVED = replicated_job()
RESERVED["template"]["spec"]["template"]["spec"]["initContainers"] = [{"name": "flux-installer"}]


@pytest.mark.parametrize(
    ("given", "on", "cause"),
    [
        (
            job(),
            runtime(policy={"flux": {"numProcPerNode": 0}}),
            (
                "spec.trainer.numProcPerNode: Invalid value: 0: "
                "must be greater than or equal to 1 for Flux TrainJob"
            ),
        ),
        (
            job(),
            runtime(RESERVED, policy=POLICY),
            (
                'spec.trainer.initContainers: Invalid value: "flux-installer": '
                "InitContainer 'flux-installer' is reserved"
            ),
        ),
        (
            trainjob(trainer={}),
            runtime(policy=POLICY),
            "spec.trainer.numNodes: Required value: a Flux TrainJob says how many it has",
        ),
        (
            trainjob(),
            runtime(policy=POLICY),
            "spec.trainer.numNodes: Required value: a Flux TrainJob says how many it has",
        ),
    ],
)
def test_what_flux_cannot_run_is_a_failed_build(
    given: dict[str, Any], on: dict[str, Any], cause: str
) -> None:
    with pytest.raises(BuildFailed) as caught:
        objects(given, on)
    assert (caught.value.plugin, caught.value.cause) == ("flux", cause)


def test_a_runtime_without_flux_gets_nothing_of_it() -> None:
    assert list(objects(job(), runtime())) == ["JobSet/train"]
    assert container(jobset(job(), runtime())) == {"name": "node", "image": "busybox"}
