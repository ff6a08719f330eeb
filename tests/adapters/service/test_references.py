"""Whatever the Pods of a job refer to is there by the time they start, under that very name."""

from typing import Any

from jobledger.core.ports.cluster import BATCH_JOBS, CONFIGMAPS, RAYCLUSTERS, SECRETS
from jobledger.core.values.documents import text
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import K8S, is_let_go
from tests.support.references import missing_references
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld, torch_runtime

TOKENS = {"spec.rayClusterSpec.authOptions": {"mode": "token"}}


def test_the_submitter_of_a_job_with_tokens_starts_in_every_attempt() -> None:
    world = ServiceWorld(exit_codes=[1, 0])
    world.create(a_rayjob(TOKENS, submissionMode=K8S, backoffLimit=1))
    named: set[str] = set()

    def is_over() -> bool:
        for submitter in world.cluster.list(BATCH_JOBS).items:
            assert missing_references(world.cluster, submitter) == []
        named.update(text(one, "metadata", "name") for one in world.cluster.list(SECRETS).items)
        return world.phase("train") == "Complete"

    world.run(is_over, "the second attempt to succeed")
    (raycluster,) = world.cluster.list(RAYCLUSTERS).items
    assert text(raycluster, "metadata", "name") in named
    assert len(named) == 2, "each attempt has a RayCluster, and that a Secret"


def test_the_nodes_of_a_job_with_mpi_find_keys_and_hostfile() -> None:
    world = TrainWorld()
    runtime: dict[str, Any] = torch_runtime()
    runtime["spec"]["mlPolicy"] = {
        "numNodes": 2,
        "mpi": {"mpiImplementation": "OpenMPI", "runLauncherAsNode": True},
    }
    (node,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    runtime["spec"]["template"]["spec"]["replicatedJobs"] = [{**node, "name": "launcher"}, node]
    world.install_runtime(runtime)
    stream = world.train()
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert world.condition("Complete")[0] == "True"
    assert len(world.cluster.list(SECRETS).items) == 1
    assert len(world.cluster.list(CONFIGMAPS).items) == 2
