"""What attempts hold: by the manifests and objects of every kind, and over time."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from jobledger.core.catalogue import read_event
from jobledger.core.jobs.history.holdings import (
    Amount,
    Holding,
    Pods,
    SeenHolding,
    holding_after,
    holding_of,
)
from jobledger.core.kinds import KINDS
from jobledger.core.projections.reporting.facts import AttemptFact
from jobledger.core.projections.reporting.fold import Folded, Rows, Rules, fold, rows_of
from jobledger.core.rayjob.observations.observations import ManifestSeen, SeenStatus
from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.quantities import parse_quantity
from tests.support.rayjob_builders import (
    ADDRESS,
    after,
    cluster,
    cluster_gone,
    cluster_of,
    manifest,
    submission_of,
)
from tests.support.rayjob_stories import Story, failing, on_the_same, working
from tests.support.recorded import recorded

GPU = "nvidia.com/gpu"


def container(**requests: Json) -> Manifest:
    return {
        "resources": {"requests": {name.replace("gpu", GPU): v for name, v in requests.items()}}
    }


def pod_of(*containers: Manifest, **more: Json) -> Manifest:
    return {"containers": list(containers), **more}


HEAD = pod_of(container(cpu="2", memory="4Gi"))
WORKER = pod_of(container(cpu=8, memory="32Gi", gpu=4))


def ray(*groups: Manifest, **more: Json) -> Manifest:
    """Return the document of a RayJob with a head and these groups."""
    head: Manifest = {"template": {"spec": HEAD}}
    return {
        "spec": {
            "rayClusterSpec": {"headGroupSpec": head, "workerGroupSpecs": list(groups), **more}
        }
    }


def group(**said: Json) -> Manifest:
    return {"template": {"spec": WORKER}, **said}


def train(**trainer: Json) -> Manifest:
    return {"spec": {"runtimeRef": {"name": "torch"}, "trainer": trainer}}


def batch(**spec: Json) -> Manifest:
    return {"spec": {"template": {"spec": WORKER}, **spec}}


def amounts(holding: Holding) -> dict[str, float]:
    return {one.accelerator or one.resource: one.amount for one in holding}


@pytest.mark.parametrize(
    ("kind", "document", "held"),
    [
        ("RayJob", ray(), {"cpu": 2, "memory": 4}),
        ("RayJob", ray(group(replicas=2)), {"cpu": 18, "memory": 68, GPU: 8}),
        ("RayJob", ray(group(replicas=2, numOfHosts=2)), {"cpu": 34, "memory": 132, GPU: 16}),
        ("RayJob", ray(group(replicas=9, maxReplicas=1)), {"cpu": 10, "memory": 36, GPU: 4}),
        ("RayJob", ray(group(minReplicas=1)), {"cpu": 10, "memory": 36, GPU: 4}),
        ("RayJob", ray(group(replicas=2, suspend=True)), {"cpu": 2, "memory": 4, GPU: 0}),
        ("RayJob", {"spec": {"clusterSelector": {"ray.io/cluster": "shared"}}}, {}),
        ("TrainJob", train(numNodes=3, resourcesPerNode={"limits": {GPU: 8}}), {GPU: 24}),
        ("TrainJob", train(resourcesPerNode={"requests": {"cpu": "500m"}}), {"cpu": 0.5}),
        ("TrainJob", train(numNodes=3), {}),
        ("Job", batch(), {"cpu": 8, "memory": 32, GPU: 4}),
        ("Job", batch(parallelism=3), {"cpu": 24, "memory": 96, GPU: 12}),
        ("Job", batch(parallelism=3, completions=2), {"cpu": 16, "memory": 64, GPU: 8}),
    ],
)
def test_what_a_manifest_asks_for(kind: str, document: Manifest, held: Mapping[str, float]) -> None:
    assert amounts(holding_of(KINDS[kind].log.pods(document))) == held


def test_a_built_jobset_says_what_its_runtime_adds_and_initializers_are_not_counted() -> None:
    step = "trainer.kubeflow.org/trainjob-ancestor-step"

    def job(name: str, **spec: Json) -> Manifest:
        pods: Manifest = {**spec, "template": {"spec": WORKER}}
        template: Manifest = {"metadata": {"labels": {step: name}}, "spec": pods}
        return {"replicas": 2, "template": template}

    jobs = [job("dataset-initializer"), job("trainer", parallelism=3), job("launcher")]
    sent: Manifest = {"JobSet/a": {"spec": {"replicatedJobs": jobs}}, "ConfigMap/a": {}}
    assert amounts(holding_of(KINDS["TrainJob"].log.built_pods(sent))) == {
        "cpu": 64,
        "memory": 256,
        GPU: 32,
    }


@pytest.mark.parametrize(
    ("pod", "held"),
    [
        (pod_of(container(**{"nvidia.com/mig-1g.5gb": 2})), {"nvidia.com/mig-1g.5gb": 2}),
        (pod_of(container(**{"google.com/tpu": "4"})), {"google.com/tpu": 4}),
        (pod_of({"resources": {"requests": {"rdma/hca": 1, "ephemeral-storage": "1Gi"}}}), {}),
        (
            pod_of(container(gpu=1), nodeSelector={"nvidia.com/gpu.product": "H100"}),
            {"H100": 1},
        ),
        (pod_of(container(cpu=1), initContainers=[container(cpu=3)]), {"cpu": 3}),
        (
            pod_of(
                container(cpu=1), initContainers=[{**container(cpu=3), "restartPolicy": "Always"}]
            ),
            {"cpu": 4},
        ),
        (pod_of(container(cpu="what")), {}),
        (pod_of(container(cpu=-2)), {"cpu": 0}),
    ],
)
def test_what_a_pod_requests(pod: Manifest, held: Mapping[str, float]) -> None:
    assert amounts(holding_of([Pods(pod, 1)])) == held


def test_accelerators_that_are_only_told_together_are_shared_out_as_before() -> None:
    before = (Amount("accelerator", "a", 1), Amount("accelerator", "b", 3), Amount("cpu", "", 2))
    told = SeenHolding(None, parse_quantity("8Gi"), parse_quantity(8))
    assert amounts(holding_after(before, told)) == {"a": 2, "b": 6, "cpu": 2, "memory": 8}
    none = (Amount("accelerator", "a", 0), Amount("accelerator", "b", 0))
    assert amounts(holding_after(none, told)) == {"a": 4, "b": 4, "memory": 8}


def asking(document: Manifest, story: Story) -> Story:
    """Return a story whose manifests have that document."""
    return tuple(
        replace(one, document=document) if isinstance(one, ManifestSeen) else one for one in story
    )


def folded(story: Story) -> Rows:
    held = Folded()
    for record in recorded(story):
        held = fold(held, record, read_event(record), Rules())
    return rows_of(held)


def held(story: Story, attempt: int = 1) -> dict[str, tuple[float, float, float]]:
    """Return what an attempt held, in amounts times seconds: waiting, running, idle."""
    one = folded(story).facts["report_attempt"][attempt - 1]
    assert isinstance(one, AttemptFact)
    return {
        use.accelerator or use.resource: (
            use.waiting_seconds,
            use.running_seconds,
            use.idle_seconds,
        )
        for use in one.resources or ()
    }


ONE_WORKER = ray(group(replicas=1))


def test_an_attempt_holds_from_its_cluster_until_that_is_gone() -> None:
    """Its RayCluster is there at 1 s, runs at 12.5 s, has ended at 39 s and is gone at 60 s."""
    story = asking(ONE_WORKER, (*working(), *failing(), cluster_gone(60)))
    waited, ran, idle = held(story)[GPU]
    assert (waited + ran + idle) == pytest.approx(4 * 59)
    assert idle == pytest.approx(4 * 21)
    assert waited == pytest.approx(held(story)["cpu"][0] * 4 / 10)
    assert 0 < waited < 4 * 41


def test_with_autoscaling_what_was_seen_counts_at_each_time() -> None:
    grew = asking(ONE_WORKER, (*working(), *grown(32, 8), *grown(35, 0), cluster_gone(50)))
    fixed = asking(ONE_WORKER, (*working(), cluster_gone(50)))
    more = sum(held(grew)[GPU]) - sum(held(fixed)[GPU])
    assert more == pytest.approx(3 * 4 - 15 * 4)
    assert held(grew)["cpu"] == pytest.approx(held(fixed)["cpu"])


def test_nothing_is_held_while_there_is_no_cluster() -> None:
    assert held(asking(ONE_WORKER, (manifest(),))) == {}


def test_the_labels_of_a_job_are_a_fact() -> None:
    document: Manifest = {**ONE_WORKER, "labels": {"team": "a", "odd": 1}}
    (job,) = folded(asking(document, working())).facts["report_job"]
    assert getattr(job, "labels", None) == '{"team":"a"}'


def grown(at: float, gpus: int) -> Story:
    """Return a look at the RayCluster of the first attempt, whose Pods request so many by now."""
    status: Manifest = {"state": "ready", "desiredGPU": str(gpus)}
    return (cluster("ready", at, status=status),)


def test_the_next_attempt_on_a_raycluster_holds_what_that_has_grown_to() -> None:
    whole = on_the_same(backoff_limit=1)
    heard = len(working())
    story = asking(ONE_WORKER, (*whole[:heard], *grown(32, 8), *whole[heard:]))
    first, second = folded(story).facts["report_attempt"]
    amounts_held = [
        use.amount
        for one in (first, second)
        if isinstance(one, AttemptFact)
        for use in one.resources or ()
        if use.accelerator == GPU
    ]
    assert amounts_held == [8, 8]


def test_of_an_attempt_that_was_found_under_way_nobody_knows_that_it_waited() -> None:
    found = SeenStatus(
        phase="Running",
        job_status="RUNNING",
        job_id=submission_of(1),
        cluster_name=cluster_of(1),
        address=ADDRESS,
        started_at=after(1),
    )
    seen = manifest(300, recorded="by others", status=found)
    assert held(asking(ONE_WORKER, (seen, cluster("ready", 310))))[GPU] == pytest.approx(
        (0, 4 * 309, 0)
    )
