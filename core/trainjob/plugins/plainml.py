"""Training without a policy of its own: the number of nodes, and the trainer's environment.

Source: Trainer v2.3, pkg/runtime/framework/plugins/plainml.
"""

from dataclasses import replace

from jobledger.core.trainjob.building.framework import Info, Plugin
from jobledger.core.trainjob.names import NODE, TRAINER
from jobledger.core.values.documents import child, items, number

OTHERS = ("torch", "mpi", "jax")
"""Policies that set the number of nodes themselves."""


class PlainMl(Plugin):
    """Carries out a runtime's mlPolicy where no other plugin counts the nodes."""

    name = "plainml"

    def enforce_ml_policy(self, info: Info) -> Info:
        """Set the number of nodes; put the trainer's environment into its container."""
        if any(info.policy(name) is not None for name in OTHERS) or info.trainer is None:
            return info
        pod_set = info.by_ancestor(TRAINER)
        if pod_set is None:
            return info
        nodes = number(info.trainer, "numNodes")
        if nodes is not None:
            pod_set = replace(pod_set, count=nodes)
        env = tuple(child(item) for item in items(info.trainer, "env"))
        return info.with_pod_set(pod_set.changed(NODE, env=env))
