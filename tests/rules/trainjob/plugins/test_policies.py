"""Policies of a runtime: each is carried out by a plugin, or the job is not built."""

import pytest

from jobledger.core.ports.cluster import VOLCANO_POD_GROUPS
from jobledger.core.trainjob.building.framework import ApplyRule, BuildFailed, Info, Plugin
from tests.rules.trainjob.plugins.runtimes import (
    INDEX,
    OWNER,
    container,
    jobset,
    objects,
    replicated_job,
    runtime,
    trainjob,
)

GPUS = {"limits": {"nvidia.com/gpu": 4}}


class Dask(Plugin):
    """A third party's, which says what it carries out."""

    name = "dask"
    ml_policies: tuple[str, ...] = ("dask",)


@pytest.mark.parametrize(
    ("policy", "gang", "named"),
    [
        ({"numNodes": 2, "dask": {}}, None, "mlPolicy.dask"),
        ({"numNodes": 2}, {"spread": {}}, "podGroupPolicy.spread"),
        ({"new": {}, "dask": {}}, None, "mlPolicy.dask, mlPolicy.new"),
    ],
)
def test_a_policy_that_no_plugin_carries_out_fails_the_build(
    policy: dict[str, object], gang: dict[str, object] | None, named: str
) -> None:
    """Built without it, nodes would train unconnected, or start one by one."""
    with pytest.raises(BuildFailed) as caught:
        objects(trainjob(), runtime(policy=policy, gang=gang))
    assert caught.value.cause.startswith(f"no plugin carries out {named} of the runtime ")


def test_a_policy_that_is_null_is_none() -> None:
    assert objects(trainjob(), runtime(policy={"numNodes": 1, "dask": None}))


def test_a_third_partys_plugin_may_carry_out_what_ours_do_not() -> None:
    assert "JobSet/train" in objects(trainjob(), runtime(policy={"dask": {}}), Dask())


def test_an_info_without_policies_is_left_as_it_is() -> None:
    info = Info(job=trainjob(), runtime=runtime(), template={}, pod_sets=())
    assert Plugin().enforce_ml_policy(info) is info


def test_jax_says_how_many_processes_there_are_and_where_they_meet() -> None:
    job = trainjob(trainer={"numNodes": 4, "env": [{"name": "A", "value": "1"}]})
    built = jobset(job, runtime(policy={"numNodes": 1, "jax": {}}))
    assert built["spec"]["replicatedJobs"][0]["template"]["spec"]["completions"] == 4
    assert container(built)["ports"] == [{"containerPort": 29500}]
    assert container(built)["env"] == [
        {"name": "JAX_NUM_PROCESSES", "value": "4"},
        {"name": "JAX_PROCESS_ID", "valueFrom": INDEX},
        {"name": "JAX_COORDINATOR_ADDRESS", "value": "train-node-0-0.train:29500"},
        {"name": "A", "value": "1"},
    ]


@pytest.mark.parametrize(
    ("trainer", "workers"),
    [({}, "2"), ({"numNodes": 3}, "3"), ({"numNodes": 3, "resourcesPerNode": GPUS}, "12")],
)
def test_xgboost_has_a_worker_per_gpu_or_per_node(trainer: dict[str, object], workers: str) -> None:
    built = jobset(trainjob(trainer=trainer), runtime(policy={"numNodes": 2, "xgboost": {}}))
    assert container(built)["env"] == [
        {"name": "DMLC_TRACKER_URI", "value": "train-node-0-0.train"},
        {"name": "DMLC_TRACKER_PORT", "value": "29500"},
        {"name": "DMLC_TASK_ID", "valueFrom": INDEX},
        {"name": "DMLC_NUM_WORKER", "value": workers},
    ]


def test_xgboosts_names_are_its_own() -> None:
    job = trainjob(trainer={"env": [{"name": "A"}, {"name": "DMLC_TASK_ID", "value": "0"}]})
    with pytest.raises(BuildFailed) as caught:
        jobset(job, runtime(policy={"xgboost": {}}))
    assert caught.value.cause == (
        "spec.trainer.env[1]: Forbidden: DMLC_TASK_ID is reserved for the XGBoost runtime"
    )


@pytest.mark.parametrize("policy", ["jax", "xgboost"])
def test_without_a_trainer_nothing_is_set(policy: str) -> None:
    built = jobset(trainjob(), runtime(policy={"numNodes": 2, policy: {}}))
    assert container(built) == {"name": "node", "image": "busybox"}


def test_volcano_gets_its_group_and_every_pod_names_it() -> None:
    node = replicated_job(resources={"requests": {"cpu": "500m"}})
    node["template"]["spec"]["template"]["spec"]["priorityClassName"] = "high"
    topology = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    on = runtime(node, policy={"numNodes": 3}, gang={"volcano": topology})
    on["spec"]["template"]["metadata"] = {
        "annotations": {"scheduling.volcano.sh/queue-name": "research"}
    }
    built = objects(trainjob(), on)
    assert built["PodGroup/train"].resource == VOLCANO_POD_GROUPS
    assert built["PodGroup/train"].rule is ApplyRule.IDLE
    assert built["PodGroup/train"].manifest == {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "ml", "ownerReferences": [OWNER]},
        "spec": {
            "minMember": 3,
            "minResources": {"cpu": "1500m"},
            "queue": "research",
            "priorityClassName": "high",
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        },
    }
    (job,) = jobset(trainjob(), on)["spec"]["replicatedJobs"]
    metadata = job["template"]["spec"]["template"]["metadata"]
    assert metadata == {"annotations": {"scheduling.k8s.io/group-name": "train"}}


def test_a_queue_of_volcano_has_a_name() -> None:
    on = runtime(gang={"volcano": {}})
    on["spec"]["template"]["metadata"] = {"annotations": {"scheduling.volcano.sh/queue-name": ""}}
    with pytest.raises(BuildFailed) as caught:
        objects(trainjob(), on)
    assert (caught.value.plugin, caught.value.cause) == (
        "volcano",
        "scheduling.volcano.sh/queue-name: Volcano queue name must not be empty",
    )
