"""What plugins make of the PodGroup of the TrainJob of `tests.support.trainjobs`."""

from msgspec.structs import replace

from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.contributions.contribution import (
    Contribution,
    OwnedObject,
    RefusedCondition,
)
from jobledger.core.trainjob.observations import DependentGone, PluginConditionsSeen
from tests.support.trainjobs import UNNAMED, after, named

POD_GROUP = OwnedObject(
    kind="PodGroup.scheduling.x-k8s.io",
    name="train",
    uid="uid-of-group",
    version="10",
    generation=1,
)


def plugin_told(
    *conditions: Condition,
    at: float = 20,
    source: OwnedObject = POD_GROUP,
    plugin: str = "gang",
    refused: tuple[RefusedCondition, ...] = (),
) -> PluginConditionsSeen:
    """Return what a plugin makes of an object of the job."""
    told = Contribution(
        plugin=plugin,
        source=source,
        conditions=tuple(replace(item, owner=plugin) for item in conditions),
        refused=refused,
    )
    return named(PluginConditionsSeen(id=UNNAMED, at=after(at), contribution=told))


def pod_group_gone(at: float = 40, *, built: bool = True) -> DependentGone:
    """Return that the PodGroup is gone."""
    return named(
        DependentGone(
            id=UNNAMED,
            at=after(at),
            name=POD_GROUP.name,
            uid=POD_GROUP.uid,
            kind=POD_GROUP.kind,
            built=built,
        )
    )
