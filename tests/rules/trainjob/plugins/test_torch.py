"""What torchrun finds in its environment."""

from typing import Any

import pytest

from jobledger.core.trainjob.building.framework import BuildFailed
from tests.rules.trainjob.plugins.runtimes import (
    INDEX,
    container,
    jobset,
    replicated_job,
    runtime,
    trainjob,
)

TORCH: dict[str, Any] = {"numNodes": 2, "torch": {}}


def pet(nodes: int, processes: str) -> list[dict[str, Any]]:
    return [
        {"name": "PET_NNODES", "value": str(nodes)},
        {"name": "PET_NPROC_PER_NODE", "value": processes},
        {"name": "PET_NODE_RANK", "valueFrom": INDEX},
        {"name": "PET_MASTER_ADDR", "value": "train-node-0-0.train"},
        {"name": "PET_MASTER_PORT", "value": "29500"},
    ]


def test_the_whole_of_it() -> None:
    trainer = {"numNodes": 4, "env": [{"name": "LR", "value": "1"}]}
    on = runtime(replicated_job(env=[{"name": "A", "value": "a"}]), policy=TORCH)
    built = jobset(trainjob(trainer=trainer), on)
    assert container(built) == {
        "name": "node",
        "image": "busybox",
        "env": [{"name": "A", "value": "a"}, {"name": "LR", "value": "1"}, *pet(4, "1")],
        "ports": [{"containerPort": 29500}],
    }
    job = built["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert (job["parallelism"], job["completions"]) == (4, 4)


def test_the_runtime_says_how_many_nodes_if_the_job_does_not() -> None:
    built = jobset(trainjob(trainer={"command": ["x"]}), runtime(policy=TORCH))
    assert container(built)["env"] == pet(2, "1")


def test_without_a_trainer_nothing_is_put_in_as_upstream() -> None:
    assert "env" not in container(jobset(trainjob(), runtime(policy=TORCH)))


def test_the_nameless_port_takes_the_place_of_the_first_nameless_one() -> None:
    on = runtime(replicated_job(ports=[{"containerPort": 80}]), policy=TORCH)
    assert container(jobset(trainjob(trainer={}), on))["ports"] == [{"containerPort": 29500}]


@pytest.mark.parametrize(
    ("trainer", "processes"),
    [
        ({"numProcPerNode": 3}, "3"),
        ({"resourcesPerNode": {"requests": {"cpu": "2500m"}}}, "3"),
        ({"resourcesPerNode": {"limits": {"cpu": 4}}}, "4"),
        ({"resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}, "auto"),
        ({"resourcesPerNode": {"requests": {"cpu": "100m"}}}, "1"),
        ({}, "1"),
    ],
)
def test_processes_follow_the_resources_of_a_node(trainer: dict[str, Any], processes: str) -> None:
    built = jobset(trainjob(trainer=trainer), runtime(policy=TORCH))
    assert container(built)["env"][1] == {"name": "PET_NPROC_PER_NODE", "value": processes}


def test_the_runtimes_resources_count_if_the_job_asks_for_none() -> None:
    on = runtime(replicated_job(resources={"limits": {"x.org/gpu": 1}}), policy=TORCH)
    assert container(jobset(trainjob(trainer={}), on))["env"][1]["value"] == "auto"


INJECTED: dict[str, Any] = {
    "numNodes": 2,
    "torch": {"envInjection": {"targets": [{"jobName": "log", "containerNames": ["tail"]}]}},
}


def test_other_containers_get_the_environment_where_the_runtime_says_so() -> None:
    on = runtime(
        replicated_job(), replicated_job("log", ancestor="", container="tail"), policy=INJECTED
    )
    assert container(jobset(trainjob(), on), 1)["env"] == pet(2, "1")


def test_an_init_container_gets_the_environment_too() -> None:
    job = replicated_job("log", ancestor="", container="main")
    pod = job["template"]["spec"]["template"]["spec"]
    pod["initContainers"] = [{"name": "tail", "image": "busybox"}]
    on = runtime(replicated_job(), job, policy=INJECTED)
    built = jobset(trainjob(), on)["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]
    assert built["spec"]["initContainers"][0]["env"] == pet(2, "1")
    assert "env" not in built["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("trainer", "on", "problem"),
    [
        (
            {"env": [{"name": "PET_NNODES", "value": "9"}]},
            runtime(policy=TORCH),
            "must not have reserved envs, invalid envs configured: [PET_NNODES]",
        ),
        ({}, runtime(policy=INJECTED), 'target podSet "log" container "tail" not found'),
        (
            {},
            runtime(replicated_job(), replicated_job("log", ancestor=""), policy=INJECTED),
            'target podSet "log" container "tail" not found',
        ),
        ({"command": ["tune", "run"]}, runtime(policy=TORCH), "is not supported"),
    ],
)
def test_what_cannot_be_is_told(trainer: dict[str, Any], on: dict[str, Any], problem: str) -> None:
    with pytest.raises(BuildFailed) as caught:
        jobset(trainjob(trainer=trainer), on)
    assert caught.value.plugin == "torch"
    assert problem in caught.value.cause


LORA = ["model.lora_attn_modules=[q_proj]"]
QLORA = [*LORA, "model.quantize_base=True"]


@pytest.mark.parametrize(
    ("runtime_name", "trainer", "command"),
    [
        (
            "torchtune-llama3.2-1b",
            {},
            ["full_finetune_single_device", "--config", "llama3_2/1B_full_single_device"],
        ),
        (
            "torchtune-llama3.2-3b",
            {"args": LORA},
            ["lora_finetune_single_device", "--config", "llama3_2/3B_lora_single_device"],
        ),
        (
            "torchtune-llama3.2-1b",
            {"args": QLORA, "numProcPerNode": 1},
            ["lora_finetune_single_device", "--config", "llama3_2/1B_qlora_single_device"],
        ),
        (
            "torchtune-qwen2.5-1.5b",
            {"numProcPerNode": 2},
            [
                "--rdzv_endpoint=train-node-0-0.train:29500",
                "full_finetune_distributed",
                "--config",
                "qwen2_5/1.5B_full",
            ],
        ),
        (
            "torchtune-llama3.3-70b",
            {"numNodes": 2},
            [
                "--rdzv_endpoint=train-node-0-0.train:29500",
                "full_finetune_distributed",
                "--config",
                "llama3_3/70B_full_multinode",
            ],
        ),
    ],
)
def test_torchtunes_recipe_follows_from_nodes_devices_and_args(
    runtime_name: str, trainer: dict[str, Any], command: list[str]
) -> None:
    asked = {"command": ["tune", "run"], **trainer}
    job = trainjob(runtimeRef={"name": runtime_name}, trainer=asked)
    on = runtime(
        replicated_job(command=["tune", "run", "x", "output_dir=/out", "other=1"]),
        policy={"numNodes": 1, "torch": {}},
    )
    built = container(jobset(job, on))
    assert built["command"] == ["tune", "run", *command, "output_dir=/out"]
    assert [item["name"] for item in built["env"] if "MASTER" in item["name"]] == []
