"""What attempts hold of a cluster: CPUs, memory, accelerators.

Of Pods it is what they request, as the scheduler keeps it free for them, whatever they use of it.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from jobledger.core.values.documents import Json, Manifest, child, text
from jobledger.core.values.pod_requests import pod_requests, requests_or_limits
from jobledger.core.values.quantities import Quantity, parse_quantity

CPU, MEMORY, ACCELERATOR = "cpu", "memory", "accelerator"

GIB = 2**30

ACCELERATORS = ("gpu", "/mig-", "tpu", "npu", "neuron", "gaudi")
"""Names of extended resources of which each is one accelerator, or a part of one, contain one of
these. Sources: the device plugins of NVIDIA, AMD, Intel, Google, Huawei, AWS and Habana."""

MODEL_LABELS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "accelerator",
)
"""Labels of nodes that say which model their accelerators are; the first in a nodeSelector counts.
Sources: the feature discovery of NVIDIA and AMD, GKE, Karpenter, Kubernetes' own examples."""


class Pods(NamedTuple):
    """Pods of a job that are alike."""

    pod: Manifest
    """The specification of each."""
    number: int


class Amount(NamedTuple):
    """How much of one thing is held."""

    resource: str
    """cpu (cores), memory (GiB) or accelerator (pieces)."""
    accelerator: str
    """Which accelerator; empty of other things."""
    amount: float


Holding: TypeAlias = tuple[Amount, ...]
"""What is held at once; of a thing that is not in it, nothing is known."""


class SeenHolding(NamedTuple):
    """What a platform says that Pods of a job request together; None: it does not say."""

    cpu: Quantity | None
    memory: Quantity | None
    accelerators: Quantity | None
    """All of them, whichever they are."""


def holding_of(pods: Iterable[Pods]) -> Holding:
    """Return what Pods hold together; an accelerator of which there are none yet counts as 0."""
    held: dict[tuple[str, str], float] = {}
    for pod, number in pods:
        for name, quantity in pod_requests(pod, requests_or_limits).items():
            key = _thing(name, pod)
            if key is not None:
                each = float(quantity.amount) / (GIB if key[0] == MEMORY else 1)
                held[key] = held.get(key, 0.0) + max(each, 0.0) * max(number, 0)
    return tuple(Amount(*key, held[key]) for key in sorted(held))


def holding_after(before: Holding, seen: SeenHolding) -> Holding:
    """Return what is held by what was seen; what was not said stays.

    Accelerators are only told together: they are shared out as they were before, in equal parts if
    there were none.
    """
    told = {CPU: (seen.cpu, 1), MEMORY: (seen.memory, GIB)}
    kept = [one for one in before if told.get(one.resource, (None, 1))[0] is None]
    for resource, (quantity, unit) in told.items():
        if quantity is not None:
            kept.append(Amount(resource, "", max(float(quantity.amount) / unit, 0.0)))
    if seen.accelerators is not None:
        kept = [*_shared_out(kept, max(float(seen.accelerators.amount), 0.0))]
    return tuple(sorted(kept))


def quantity_at(document: Json, *path: str) -> Quantity | None:
    """Return the quantity found at `path`, or None where there is none."""
    return parse_quantity(child(document, *path[:-1]).get(path[-1]))


def _shared_out(held: Sequence[Amount], number: float) -> Iterable[Amount]:
    ours = [one for one in held if one.resource == ACCELERATOR]
    together = sum(one.amount for one in ours)
    yield from (one for one in held if one.resource != ACCELERATOR)
    for one in ours:
        part = one.amount / together if together else 1 / len(ours)
        yield one._replace(amount=number * part)
    if not ours and number:
        yield Amount(ACCELERATOR, "", number)


def _thing(name: str, pod: Manifest) -> tuple[str, str] | None:
    """Return what a resource is counted as; None: it is not counted."""
    if name in (CPU, MEMORY):
        return name, ""
    if "/" in name and any(word in name.lower() for word in ACCELERATORS):
        return ACCELERATOR, _model(pod) or name
    return None


def _model(pod: Manifest) -> str:
    found = (text(pod, "nodeSelector", label) for label in MODEL_LABELS)
    return next((model for model in found if model), "")
