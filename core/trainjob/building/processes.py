"""The number of processes per node: as requested, or derived from its resources.

Source: Trainer v2.3, pkg/runtime/framework/plugins/torch (getNumProcPerNode) and pkg/util/trainjob.
"""

from collections.abc import Mapping

from jobledger.core.trainjob.building.framework import Info
from jobledger.core.trainjob.names import NODE, TRAINER
from jobledger.core.values.documents import Manifest, child, number
from jobledger.core.values.quantities import Quantity, amounts, whole

AUTO = "auto"
"""Left to torchrun, which counts the devices."""

_COUNT_MAX = 2**63 - 1
"""Beyond it Trainer counts none, or below 0."""


def resources_of(info: Info) -> Manifest:
    """Return the resources of a node: the TrainJob's if it asks for any, else the runtime's.

    The runtime's are those of the first container that trains, be it in the job called `node` or
    in the one labelled as the trainer.
    """
    asked = child(info.trainer).get("resourcesPerNode")
    if isinstance(asked, Mapping):
        return asked
    nodes = (
        pod_set.container(NODE)
        for pod_set in info.pod_sets
        if pod_set.name == NODE or pod_set.ancestor == TRAINER
    )
    return child(next((one for one in nodes if one is not None), {}), "resources")


def gpus_of(info: Info) -> int:
    """Return how many GPUs a node has: the first resource that is called so, requests first."""
    resources = resources_of(info)
    for kind in ("requests", "limits"):
        for name, quantity in amounts(resources.get(kind)).items():
            if "gpu" in name.lower() and (count := _counted(quantity)):
                return count
    return 0


def _counted(quantity: Quantity) -> int:
    """Return an amount as a count: rounded up, none if it is below 0 or beyond 64 bits."""
    count = whole(quantity)
    return count if 0 < count <= _COUNT_MAX else 0


def per_node(info: Info) -> str:
    """Return the number of processes on a node, or `auto`."""
    asked = number(info.trainer, "numProcPerNode") if info.trainer is not None else None
    if asked is not None:
        return str(asked)
    if gpus_of(info):
        return AUTO
    resources = resources_of(info)
    for kind in ("requests", "limits"):
        cpu = amounts(resources.get(kind)).get("cpu")
        if cpu is not None and cpu.amount:
            return str(max(1, _counted(cpu)))
    return "1"
