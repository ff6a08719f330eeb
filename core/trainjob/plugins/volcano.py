"""Gang scheduling by Volcano.

Source: Trainer v2.3, pkg/runtime/framework/plugins/volcano.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jobledger.core.ports.cluster import VOLCANO_POD_GROUPS, Resource
from jobledger.core.trainjob.building.framework import ApplyRule, BuiltObject, Info, Plugin
from jobledger.core.trainjob.building.pod_sets import gang_of
from jobledger.core.values.documents import Manifest, number, text

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"


class Volcano(Plugin):
    """Makes Volcano's PodGroup and names it in every Pod."""

    name = "volcano"
    pod_group_policies: tuple[str, ...] = ("volcano",)
    watched: tuple[Resource, ...] = (VOLCANO_POD_GROUPS,)

    def validate(self, info: Info) -> Iterable[str]:
        """Yield a queue without a name."""
        if info.pod_group_policy("volcano") is None:
            return
        if QUEUE_ANNOTATION in info.annotations and not info.annotations[QUEUE_ANNOTATION]:
            yield f"{QUEUE_ANNOTATION}: Volcano queue name must not be empty"

    def enforce_pod_group_policy(self, info: Info) -> Info:
        """Name the group in every Pod."""
        if info.pod_group_policy("volcano") is None:
            return info
        return replace(info, pod_annotations={**info.pod_annotations, GROUP_ANNOTATION: info.name})

    def build(self, info: Info) -> Sequence[BuiltObject]:
        """Return the PodGroup: all Pods of the job, the initializers' included."""
        policy = info.pod_group_policy("volcano")
        if policy is None:
            return ()
        spec = gang_of(info.pod_sets)
        if queue := info.annotations.get(QUEUE_ANNOTATION):
            spec["queue"] = queue
        for item in info.pod_sets:  # the last one counts
            if priority := text(item.pod, "priorityClassName"):
                spec["priorityClassName"] = priority
        topology = policy.get("networkTopology")
        if isinstance(topology, Mapping):
            tier = number(topology, "highestTierAllowed")
            spec["networkTopology"] = {
                "mode": text(topology, "mode"),
                **({} if tier is None else {"highestTierAllowed": tier}),
            }
        group: Manifest = {"metadata": {"name": info.name}, "spec": spec}
        return (BuiltObject(resource=VOLCANO_POD_GROUPS, manifest=group, rule=ApplyRule.IDLE),)
