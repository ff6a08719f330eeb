"""XGBoost: the number of nodes and workers, and where they find the tracker.

Source: Trainer v2.3, pkg/runtime/framework/plugins/xgboost.
"""

from collections.abc import Iterable

from jobledger.core.trainjob.building.framework import Info, Plugin
from jobledger.core.trainjob.building.processes import gpus_of
from jobledger.core.trainjob.names import INDEX, MASTER_PORT, NODE, TRAINER, master_address
from jobledger.core.values.documents import Manifest, items, text

RESERVED = ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER")
"""Names that the trainer's environment must leave to this plugin."""


class XgBoost(Plugin):
    """Carries out mlPolicy.xgboost; asked after plainml, which counts the nodes."""

    name = "xgboost"
    ml_policies: tuple[str, ...] = ("xgboost",)

    def validate(self, info: Info) -> Iterable[str]:
        """Yield reserved names in the environment."""
        if info.policy("xgboost") is None:
            return
        for index, item in enumerate(items(info.trainer, "env")):
            if text(item, "name") in RESERVED:
                where = f"spec.trainer.env[{index}]: Forbidden"
                yield f"{where}: {text(item, 'name')} is reserved for the XGBoost runtime"

    def enforce_ml_policy(self, info: Info) -> Info:
        """Say where the tracker is and how many workers there are: one per GPU, else per node."""
        pod_set = info.by_ancestor(TRAINER)
        if info.policy("xgboost") is None or info.trainer is None or pod_set is None:
            return info
        workers = pod_set.count * (gpus_of(info) or 1)
        env: tuple[Manifest, ...] = (
            {"name": "DMLC_TRACKER_URI", "value": master_address(info.name)},
            {"name": "DMLC_TRACKER_PORT", "value": str(MASTER_PORT)},
            {"name": "DMLC_TASK_ID", "valueFrom": INDEX},
            {"name": "DMLC_NUM_WORKER", "value": str(workers)},
        )
        ports = ({"containerPort": MASTER_PORT},)
        return info.with_pod_set(pod_set.changed(NODE, env=env, ports=ports))
