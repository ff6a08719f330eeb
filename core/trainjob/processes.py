"""How many processes run on a node: as asked, or as many as its resources are made for.

Source: Trainer v2.3, pkg/runtime/framework/plugins/torch (getNumProcPerNode) and pkg/util/trainjob.
"""

from collections.abc import Mapping

from core.trainjob.framework import Info
from core.trainjob.names import NODE
from core.trainjob.pod_sets import PodSet
from core.values.documents import Manifest, child, number
from core.values.quantities import amounts, whole

AUTO = "auto"
"""Left to torchrun, which counts the devices."""


def resources_of(info: Info, pod_set: PodSet) -> Manifest:
    """Return the resources of a node: the TrainJob's if it asks for any, else the runtime's."""
    asked = child(info.trainer).get("resourcesPerNode")
    if isinstance(asked, Mapping):
        return asked
    return child(pod_set.container(NODE), "resources")


def gpus_of(info: Info, pod_set: PodSet) -> int:
    """Return how many GPUs a node has: the first resource that is called so."""
    resources = resources_of(info, pod_set)
    for kind in ("requests", "limits"):
        for name, quantity in amounts(resources.get(kind)).items():
            if "gpu" in name.lower():
                return whole(quantity)
    return 0


def per_node(info: Info, pod_set: PodSet) -> str:
    """Return the number of processes on a node, or `auto`."""
    asked = number(info.trainer, "numProcPerNode") if info.trainer is not None else None
    if asked is not None:
        return str(asked)
    if gpus_of(info, pod_set):
        return AUTO
    resources = resources_of(info, pod_set)
    for kind in ("requests", "limits"):
        cpu = amounts(resources.get(kind)).get("cpu")
        if cpu is not None:
            return str(max(1, whole(cpu)))
    return "1"
