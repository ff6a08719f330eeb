"""Gang scheduling by the coscheduling plugin of the scheduler-plugins project.

Source: Trainer v2.3, pkg/runtime/framework/plugins/coscheduling.
"""

from collections.abc import Sequence
from dataclasses import replace

from jobledger.core.ports.cluster import POD_GROUPS, Resource
from jobledger.core.trainjob.building.framework import ApplyRule, BuiltObject, Info, Plugin
from jobledger.core.trainjob.building.pod_sets import gang_of
from jobledger.core.values.documents import Manifest, number

POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
SCHEDULE_TIMEOUT_SECONDS = 60
"""The CRD's default."""


class Coscheduling(Plugin):
    """Makes the PodGroup and labels every Pod with it."""

    name = "coscheduling"
    pod_group_policies: tuple[str, ...] = ("coscheduling",)
    watched: tuple[Resource, ...] = (POD_GROUPS,)

    def enforce_pod_group_policy(self, info: Info) -> Info:
        """Label every Pod with its group."""
        if info.pod_group_policy("coscheduling") is None:
            return info
        return replace(info, pod_labels={**info.pod_labels, POD_GROUP_LABEL: info.name})

    def build(self, info: Info) -> Sequence[BuiltObject]:
        """Return the PodGroup: all Pods of the job, the initializers' included."""
        policy = info.pod_group_policy("coscheduling")
        if policy is None:
            return ()
        timeout = number(policy, "scheduleTimeoutSeconds")
        spec: Manifest = {
            **gang_of(info.pod_sets),
            "scheduleTimeoutSeconds": SCHEDULE_TIMEOUT_SECONDS if timeout is None else timeout,
        }
        group: Manifest = {"metadata": {"name": info.name}, "spec": spec}
        return (BuiltObject(resource=POD_GROUPS, manifest=group, rule=ApplyRule.IDLE),)
