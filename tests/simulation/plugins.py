"""A plugin of somebody's that makes a condition of how a JobSet fares."""

from collections.abc import Iterable

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.core.ports.cluster import JOBSETS, Resource
from jobledger.core.trainjob.building.framework import Plugin, PluginCondition
from jobledger.core.trainjob.plugins import all_plugins
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.values.documents import Manifest, number
from tests.simulation.jobsets import state_of
from tests.simulation.profile import TRAINS_EVERY


class Faring(Plugin):
    """Says whether Pods are ready, and how often they were started anew."""

    name = "faring"
    conditions_from: tuple[Resource, ...] = (JOBSETS,)
    condition_types: tuple[str, ...] = ("Faring",)

    def conditions(self, job: Manifest, observed: Manifest) -> Iterable[PluginCondition]:
        """See `core.trainjob.building.framework.Plugin.conditions`."""
        del job
        state, restarts = state_of(observed), number(observed, "status", "restarts") or 0
        status = {"ready": "True", "": "Unknown"}.get(state, "False")
        yield PluginCondition(
            type="Faring", status=status, reason=f"Restarts{restarts}", message=state
        )


INSTALLED = TrainInstallation(
    policy=TrainPolicy(propagates=True), plugins=(*all_plugins(), Faring())
)


def has_plugin(seed: int) -> bool:
    """Return whether the plugin is installed in a run with TrainJobs."""
    return seed // TRAINS_EVERY // 2 % 2 == 0
