"""TrainJobs of two nodes, and the runtime that they run on.

The program takes the number of nodes, its own number and the master's address from the variables
that the torch policy sets, as torch's launcher does, and the address is a name of cluster DNS. It
does so itself, as the launcher of Debian's torch 1.13 fails on the Python that it comes with.
"""

import json
from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]

RUNTIME = "torch-on-cpu"
NODES = 2
MEETS, LOSES = "two-nodes-meet", "two-nodes-lose-one"

PROGRAM = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

given = {"WORLD_SIZE": "NNODES", "RANK": "NODE_RANK"}
for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
    os.environ[name] = os.environ["PET_" + given.get(name, name)]
dist.init_process_group("gloo")
rank, nodes = dist.get_rank(), dist.get_world_size()
torch.manual_seed(7)
inputs = torch.randn(256, 4)
targets = inputs @ torch.tensor([[1.0], [-2.0], [3.0], [0.5]])
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    if step == 20 and os.environ.get("LOSE") == str(rank):
        raise OSError(28, "No space left on device", "/data/step-20.pt")
    mine = slice(rank, None, nodes)
    loss = torch.nn.functional.mse_loss(model(inputs[mine]), targets[mine])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
whole = loss.detach().clone()
dist.all_reduce(whole)
weights = [round(float(one), 3) for one in model.module.weight.flatten()]
print("rank %d of %d: loss %.6f, weights %s" % (rank, nodes, whole / nodes, weights), flush=True)
"""
"""Each node has half of the rows; their gradients are averaged at each step."""


def runtime(image: str) -> Document:
    """Return a runtime of two nodes with the torch policy."""
    requests = {"requests": {"cpu": "100m"}}
    node = {"name": "node", "image": image, "resources": requests}
    pod = {"restartPolicy": "Never", "containers": [node]}
    step = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    job = {"metadata": step, "spec": {"backoffLimit": 0, "template": {"spec": pod}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": RUNTIME},
        "spec": {
            "mlPolicy": {"numNodes": NODES, "torch": {}},
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}},
        },
    }


def jobs() -> Iterator[Document]:
    """Yield one whose nodes train to the end, and one of which a node goes at step 20."""
    yield _job(MEETS)
    yield _job(LOSES, LOSE="1")


def _job(name: str, **variables: str) -> Document:
    env = [{"name": key, "value": value} for key, value in variables.items()]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {
            "runtimeRef": {"name": RUNTIME, "kind": "TrainingRuntime"},
            "trainer": {"command": ["python3", "-c", PROGRAM], "env": env, "numProcPerNode": 1},
        },
    }


def disagreement(logs: list[str]) -> str:
    """Return what is wrong with what the nodes have printed; empty if they have trained as one."""
    last = [[line for line in log.splitlines() if " of 2: " in line][-1:] for log in logs]
    told = sorted(line for lines in last for line in lines)
    if len(logs) != NODES or len(told) != NODES:
        return f"{len(told)} of {len(logs)} nodes have told how they ended: {json.dumps(logs)}"
    if [line.split(":")[0] for line in told] != [f"rank {rank} of 2" for rank in range(NODES)]:
        return f"not each rank has ended: {told}"
    if len({line.partition(": ")[2] for line in told}) != 1:
        return f"the nodes have learned different things: {told}"
    loss = float(told[0].partition("loss ")[2].partition(",")[0])
    return "" if loss < 1e-3 else f"nothing was learned: {told}"
