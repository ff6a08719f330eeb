"""Gang scheduling, and training without a policy of its own."""

from jobledger.core.trainjob.building.framework import ApplyRule
from tests.rules.trainjob.plugins.runtimes import (
    OWNER,
    container,
    jobset,
    objects,
    replicated_job,
    runtime,
    trainjob,
)

GANG = {"coscheduling": {"scheduleTimeoutSeconds": 120}}


def test_the_group_counts_all_pods_and_what_they_ask_for() -> None:
    node = replicated_job(resources={"requests": {"cpu": "500m", "memory": "1Gi"}})
    first = replicated_job(
        "dataset-initializer",
        ancestor="dataset-initializer",
        container="dataset-initializer",
        resources={"limits": {"cpu": 1}},
    )
    built = objects(trainjob(trainer={"numNodes": 3}), runtime(first, node, gang=GANG))
    assert list(built) == ["PodGroup/train", "JobSet/train"]
    assert built["PodGroup/train"].rule is ApplyRule.IDLE
    assert built["PodGroup/train"].manifest == {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "ml", "ownerReferences": [OWNER]},
        "spec": {
            "minMember": 4,
            "scheduleTimeoutSeconds": 120,
            "minResources": {"cpu": "1500m", "memory": "3Gi"},  # limits alone ask for nothing
        },
    }


def test_every_pod_carries_the_label_of_its_group() -> None:
    jobs = (replicated_job("first", ancestor=""), replicated_job())
    built = jobset(trainjob(), runtime(*jobs, gang={"coscheduling": {}}))
    for job in built["spec"]["replicatedJobs"]:
        metadata = job["template"]["spec"]["template"]["metadata"]
        assert metadata == {"labels": {"scheduling.x-k8s.io/pod-group": "train"}}


def test_the_time_out_has_the_crds_default() -> None:
    built = objects(trainjob(), runtime(gang={"coscheduling": {}}))["PodGroup/train"]
    spec = built.manifest["spec"]
    assert spec == {"minMember": 1, "scheduleTimeoutSeconds": 60}


def test_plain_training_sets_nodes_and_environment() -> None:
    trainer = {"numNodes": 5, "env": [{"name": "A", "value": "1"}]}
    built = jobset(trainjob(trainer=trainer), runtime())
    assert built["spec"]["replicatedJobs"][0]["template"]["spec"]["completions"] == 5
    assert container(built)["env"] == [{"name": "A", "value": "1"}]


def test_beside_xgboost_too() -> None:
    on = runtime(policy={"numNodes": 1, "xgboost": {}})
    built = jobset(trainjob(trainer={"numNodes": 2}), on)
    assert built["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 2


def test_without_a_policy_the_template_says_how_many() -> None:
    on = runtime()
    del on["spec"]["mlPolicy"]
    on["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] = 7
    built = jobset(trainjob(), on)
    assert built["spec"]["replicatedJobs"][0]["template"]["spec"]["completions"] == 7
