"""Computes the `.status` of a TrainJob from its state.

`trainerStatus` is not ours: training code writes it, and it is left alone. A status that would be
empty is not written, for the API server takes none. Source: Trainer v2.3, trainjob_types.go.
"""

from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.trainjob.conditions import Condition, in_seed_order, without
from jobledger.core.trainjob.phases import CREATED
from jobledger.core.trainjob.policy import ConditionStyle
from jobledger.core.trainjob.state import TrainJobState, is_active
from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.instants import rfc3339
from jobledger.core.values.visible_text import visible

JOBS_MAX = 100
"""How many entries of jobsStatus the API server takes."""
MESSAGE_MAX = 32_768
"""How long a condition's message may be."""

FIELDS = frozenset({"conditions", "jobsStatus"})
"""Every field of the status that is ours."""


def status(state: TrainJobState) -> Manifest:
    """Return what users are to see; empty while there is nothing to say."""
    if state.manifest is None or _is_first_apply_under_way(state):
        return {}
    shown: dict[str, Json] = {}
    if steps_back(state):
        shown["conditions"] = []  # said, so that a merge takes away what stood there
    elif conditions := _conditions(state, state.manifest.policy.conditions):
        shown["conditions"] = [_condition(item) for item in conditions]
    if state.shown_jobs:
        shown["jobsStatus"] = [
            {
                "name": item.name,
                "ready": item.ready,
                "succeeded": item.succeeded,
                "failed": item.failed,
                "active": item.active,
                "suspended": item.suspended,
            }
            for item in state.jobs[:JOBS_MAX]
        ]
    return shown


def _is_first_apply_under_way(state: TrainJobState) -> bool:
    """Return whether the objects are being made for the first time: its outcome is shown as well.

    As upstream, which writes once after it has applied; a job that is born suspended costs one
    write less.
    """
    applying = any(effect.desired.kind is EffectKind.APPLY_OBJECTS for effect in state.effects)
    return applying and state.built is None and not state.shown_jobs


def steps_back(state: TrainJobState) -> bool:
    """Return whether Created is not shown while the job runs.

    It is so where it is True, and the only condition there is: a failure is always shown, and
    beside another condition nobody would be helped.
    """
    if state.manifest is None or state.manifest.policy.conditions is not (
        ConditionStyle.UNLESS_RUNNING
    ):
        return False
    alone = [(item.type, item.is_true) for item in state.conditions] == [(CREATED, True)]
    return alone and any(item.ready for item in state.jobs)


def _conditions(state: TrainJobState, style: ConditionStyle) -> tuple[Condition, ...]:
    if style is ConditionStyle.UPSTREAM:
        return without(state.conditions, CREATED)
    return in_seed_order(state.conditions)


def _condition(condition: Condition) -> Manifest:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": visible(condition.message)[:MESSAGE_MAX],
        "lastTransitionTime": rfc3339(condition.since),
    }


def milestone(state: TrainJobState) -> str:
    """Return what must be seen by users before the next: two states of one milestone may merge.

    Clients wait for a condition, for Jobs to be active (and no longer, after a suspension), and
    for all of them to be ready.
    """
    conditions = [f"{item.type}={item.status}/{item.reason}" for item in state.conditions]
    jobs = [f"{item.name}:{bool(item.active)}:{item.ready + item.succeeded}" for item in state.jobs]
    return " ".join([*conditions, *jobs, str(is_active(state))])
