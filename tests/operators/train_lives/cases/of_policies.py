"""What plugins make: of each policy of training and of gangs."""

import copy

from tests.acceptance.trainjobs import torch_runtime
from tests.operators.train_lives.cases.table import (
    Document,
    groups_of,
    job,
    life,
    running,
    upstreams,
)
from tests.operators.train_lives.world import PODGROUPS, SECRETS, World
from tests.support.api import CONFIGMAPS


@life
def many_nodes_with_gpus(w: World) -> None:
    w.runtime(torch_runtime("torch"))
    document = job()
    document["spec"]["trainer"] |= {
        "numNodes": 3,
        "image": "mine",
        "env": [{"name": "A", "value": "1"}],
        "resourcesPerNode": {"limits": {"nvidia.com/gpu": 2, "cpu": "1500m"}},
    }
    w.submit(document)
    w.settle("made")
    w.run(count=3)
    w.settle("runs")
    w.end()
    w.settle("ended")


@life
def no_nodes(w: World) -> None:
    w.runtime(torch_runtime("torch"))
    document = job()
    document["spec"]["trainer"]["numNodes"] = 0
    w.submit(document)
    w.settle("made")


@life
def no_trainer(w: World) -> None:
    w.runtime(torch_runtime("torch"))
    document = job()
    del document["spec"]["trainer"]
    w.submit(document)
    w.settle("made")
    w.change(trainer={"numNodes": 2})
    w.settle("trainer added")
    w.change(suspend=True)
    w.settle("suspended")
    w.change(suspend=False)
    w.settle("resumed")


def policy(name: str, **more: object) -> Document:
    runtime = torch_runtime("torch")
    runtime["spec"]["mlPolicy"] = {"numNodes": 2, name: more} if name else {"numNodes": 2}
    return runtime


@life
def jax(w: World) -> None:
    w.runtime(policy("jax"))
    w.submit(job())
    w.settle("made")
    w.change(suspend=True)
    w.settle("suspended")
    w.change(suspend=False)
    w.settle("resumed")


@life
def xgboost(w: World) -> None:
    w.runtime(policy("xgboost"))
    w.submit(job())
    w.settle("made")
    w.change(suspend=True)
    w.settle("suspended")
    w.change(suspend=False)
    w.settle("resumed")


@life
def plain(w: World) -> None:
    w.runtime(policy(""))
    document = job()
    del document["spec"]["trainer"]
    w.submit(document)
    w.settle("made")
    w.run(count=2)
    w.end()
    w.settle("ended")


@life
def flux(w: World) -> None:
    w.runtime(policy("flux"))
    w.submit(job())
    w.settle("made")
    w.change(suspend=True)
    w.settle("suspended")
    w.delete(SECRETS, "fit-flux-curve")
    w.delete(CONFIGMAPS, "fit-flux-entrypoint")
    w.settle("deleted")
    w.change(suspend=False)
    w.settle("resumed")


def mpi_runtime(**more: object) -> Document:
    runtime = torch_runtime("torch")
    runtime["spec"]["mlPolicy"] = {"numNodes": 2, "mpi": {"mpiImplementation": "OpenMPI", **more}}
    spec = runtime["spec"]["template"]["spec"]
    (node,) = spec["replicatedJobs"]
    launcher = copy.deepcopy(node)
    launcher["name"] = "launcher"
    launcher["dependsOn"] = [{"name": "node", "status": "Ready"}]
    node["template"]["metadata"]["labels"] = {"nothing": "special"}
    spec["replicatedJobs"] = [node, launcher]
    spec["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["launcher"]}
    return runtime


def mpi_life(w: World, runtime: Document, nodes: int) -> None:
    w.runtime(runtime)
    document = job()
    document["spec"]["trainer"] |= {"numNodes": 3}
    w.submit(document)
    w.settle("made")
    w.run("node", nodes)
    w.settle("nodes run")
    w.run("launcher", 2)
    w.settle("launcher runs")
    w.change(suspend=True)
    w.settle("suspended")
    w.delete(SECRETS, "fit-mpi-ssh-auth")
    w.delete(CONFIGMAPS, "fit-mpi-hostfile")
    w.settle("deleted", 5)
    w.change(suspend=False)
    w.run("node", nodes)
    w.run("launcher", 2)
    w.settle("resumed")
    w.end("launcher")
    w.settle("ended")


@life
def mpi(w: World) -> None:
    mpi_life(w, mpi_runtime(), 3)


@life
def mpi_with_the_launcher_as_a_node(w: World) -> None:
    mpi_life(w, mpi_runtime(runLauncherAsNode=True), 2)


@life
def files_of_mpi_change(w: World) -> None:
    w.runtime(mpi_runtime())
    w.submit(job())
    w.settle("made")
    hostfile = {"data": {"hostfile": "theirs"}}
    w.merge(CONFIGMAPS, "fit-mpi-hostfile", hostfile)
    w.settle("changed while running")
    w.delete(CONFIGMAPS, "fit-mpi-hostfile")
    w.settle("deleted while running")
    w.change(suspend=True)
    w.settle("suspended")
    w.merge(CONFIGMAPS, "fit-mpi-hostfile", hostfile)
    w.settle("changed while suspended")
    w.change(suspend=False)
    w.settle("resumed")


@life
def coscheduling(w: World) -> None:
    runtime = torch_runtime("torch")
    runtime["spec"]["podGroupPolicy"] = {"coscheduling": {"scheduleTimeoutSeconds": 30}}
    gang_life(w, runtime, 0)


@life
def volcano(w: World) -> None:
    runtime = torch_runtime("torch")
    runtime["spec"]["podGroupPolicy"] = {"volcano": {"networkTopology": {"mode": "hard"}}}
    metadata = {"annotations": {"scheduling.volcano.sh/queue-name": "q"}}
    runtime["spec"]["template"]["metadata"] = metadata
    gang_life(w, runtime, 1)


def gang_life(w: World, runtime: Document, which: int) -> None:
    running(w, runtime)
    w.delete(PODGROUPS[which], "fit")
    w.settle("deleted while running")
    w.change(suspend=True)
    w.settle("suspended")
    w.merge(PODGROUPS[which], "fit", {"spec": {"minMember": 9}})
    w.settle("drifted")
    w.change(suspend=False)
    w.settle("resumed")
    w.merge(PODGROUPS[which], "fit", {"spec": {"minMember": 8}})
    w.settle("drifted while running")
    w.run()
    w.end()
    w.settle("ended")
    w.delete(PODGROUPS[which], "fit")
    w.settle("deleted after the end")


@life
def torchtune(w: World) -> None:
    runtime = upstreams("torchtune")
    w.runtime(runtime)
    document = job()
    document["spec"] |= {
        "runtimeRef": {"name": runtime["metadata"]["name"]},
        "trainer": {"numNodes": 1},
        "initializer": {
            "dataset": {"storageUri": "hf://some/data", "secretRef": {"name": "token"}},
            "model": {"storageUri": "hf://some/model", "env": [{"name": "A", "value": "b"}]},
        },
    }
    w.submit(document)
    w.settle("made")
    w.run("dataset-initializer")
    w.run("model-initializer")
    w.settle("initializes")
    w.end("dataset-initializer")
    w.settle("dataset is there")
    w.change(suspend=True)
    w.settle("suspended")
    w.change(suspend=False)
    w.run("model-initializer")
    w.end("model-initializer")
    w.settle("all is there")
    w.run("node")
    w.settle("trains")
    w.end("node")
    w.settle("ended")


@life
def torchtune_model_fails(w: World) -> None:
    runtime = upstreams("torchtune")
    runtime["metadata"]["name"] = "torchtune-llama3.2-3b"
    for group in groups_of(runtime):
        group["template"]["spec"]["backoffLimit"] = 0
        group["template"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    w.runtime(runtime)
    document = job()
    document["spec"] |= {
        "runtimeRef": {"name": "torchtune-llama3.2-3b"},
        "trainer": {"numNodes": 1, "command": ["tune", "run"], "args": ["epochs=1"]},
        "initializer": {"model": {"storageUri": "hf://some/model"}},
    }
    w.submit(document)
    w.settle("made")
    w.run(count=2)
    w.end("model-initializer", fails=True)
    w.settle("failed")


@life
def deepspeed(w: World) -> None:
    runtime = upstreams("deepspeed")
    w.runtime(runtime)
    document = job()
    document["spec"] |= {"runtimeRef": {"name": runtime["metadata"]["name"]}}
    document["spec"]["trainer"] |= {"numNodes": 2}
    w.submit(document)
    w.settle("made")
    w.run("node")
    w.run("launcher")
    w.settle("runs")
    w.end("launcher")
    w.settle("ended")
