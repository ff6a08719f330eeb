"""Shows on a TrainJob, as GangScheduled, whether its Pods could be scheduled together."""

from collections.abc import Iterable

from jobledger.core.ports.cluster import POD_GROUPS, VOLCANO_POD_GROUPS, Resource
from jobledger.core.trainjob.building.framework import Plugin, PluginCondition
from jobledger.core.values.documents import Manifest, items, text
from jobledger.core.values.instants import parse_rfc3339

PLACED = ("Scheduled", "Running", "Finished", "Completed")


class GangScheduled(Plugin):
    """Reads the PodGroups of Volcano and of the coscheduling plugin."""

    name = "gang-scheduled"
    conditions_from: tuple[Resource, ...] = (POD_GROUPS, VOLCANO_POD_GROUPS)
    condition_types: tuple[str, ...] = ("GangScheduled",)

    def conditions(self, job: Manifest, observed: Manifest) -> Iterable[PluginCondition]:
        """Give what Volcano's conditions say last; else what the phase says."""
        del job
        told = sorted(
            (one for one in items(observed, "status", "conditions") if text(one, "type")),
            key=lambda one: text(one, "lastTransitionTime"),
        )
        phase = text(observed, "status", "phase")
        if told:
            last = told[-1]
            yield PluginCondition(
                type="GangScheduled",
                status="False" if text(last, "type") == "Unschedulable" else "True",
                reason=text(last, "type"),
                message=": ".join(filter(None, (text(last, "reason"), text(last, "message")))),
                since=parse_rfc3339(text(last, "lastTransitionTime")),
            )
        elif phase in ("", "Unknown"):
            yield PluginCondition(type="GangScheduled", status="Unknown", reason="NotSeenYet")
        else:
            status = "True" if phase in PLACED else "False"
            yield PluginCondition(type="GangScheduled", status=status, reason=phase)
