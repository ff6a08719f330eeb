"""JAX: the number of nodes, and what `jax.distributed.initialize` reads from its environment.

Source: Trainer v2.3, pkg/runtime/framework/plugins/jax.
"""

from dataclasses import replace

from jobledger.core.trainjob.building.framework import Info, Plugin
from jobledger.core.trainjob.names import INDEX, MASTER_PORT, NODE, TRAINER, master_address
from jobledger.core.values.documents import Manifest, number


class Jax(Plugin):
    """Carries out mlPolicy.jax."""

    name = "jax"
    ml_policies: tuple[str, ...] = ("jax",)

    def enforce_ml_policy(self, info: Info) -> Info:
        """Set the number of nodes, one process on each, and where they meet.

        The trainer's own environment is put in last, by the JobSet plugin, and comes first.
        """
        pod_set = info.by_ancestor(TRAINER)
        if info.policy("jax") is None or info.trainer is None or pod_set is None:
            return info
        nodes = number(info.trainer, "numNodes")
        if nodes is not None:
            pod_set = replace(pod_set, count=nodes)
        coordinator = f"{master_address(info.name)}:{MASTER_PORT}"
        env: tuple[Manifest, ...] = (
            {"name": "JAX_NUM_PROCESSES", "value": str(pod_set.count)},
            {"name": "JAX_PROCESS_ID", "valueFrom": INDEX},
            {"name": "JAX_COORDINATOR_ADDRESS", "value": coordinator},
        )
        ports = ({"containerPort": MASTER_PORT},)
        return info.with_pod_set(pod_set.changed(NODE, env=env, ports=ports))
