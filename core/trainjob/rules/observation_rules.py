"""What observations of a TrainJob mean before anything is decided on them."""

from jobledger.core.jobs.control.observation_rules import ObservationRules
from jobledger.core.trainjob.observations import (
    DependentGone,
    JobSetGone,
    JobSetSeen,
    PluginConditionsSeen,
    ProgressSeen,
    RuntimeSeen,
    TrainJobGone,
    TrainJobObservation,
    TrainJobSeen,
)
from jobledger.core.trainjob.phases import TERMINAL
from jobledger.core.trainjob.state import TrainJobState


def _subject(seen: TrainJobObservation) -> tuple[object, ...] | None:
    if isinstance(seen, TrainJobSeen):
        return type(seen), seen.recorded, seen.in_between
    if isinstance(seen, JobSetSeen):
        return type(seen), seen.uid
    if isinstance(seen, PluginConditionsSeen):
        return type(seen), seen.contribution.plugin, seen.contribution.source.uid
    return (type(seen),) if isinstance(seen, RuntimeSeen | ProgressSeen) else None


def _marks(seen: TrainJobObservation) -> frozenset[str]:
    if isinstance(seen, JobSetSeen | JobSetGone):
        return frozenset({seen.uid, seen.name})
    if isinstance(seen, DependentGone):
        return frozenset({seen.uid})
    if isinstance(seen, PluginConditionsSeen):
        return frozenset({seen.contribution.source.uid})
    return frozenset()


def _known_marks(state: TrainJobState) -> frozenset[str]:
    if state.identity is None:
        return frozenset()
    jobset = state.jobset.uid if state.jobset is not None else ""
    sources = {one.source.uid for one in state.contributions}
    return frozenset({state.identity.name, jobset, *sources}) - {""}


def _reopens(seen: TrainJobObservation, _kept: str) -> bool:
    if isinstance(seen, JobSetSeen):  # after the end none should be at work
        return seen.end is None and not seen.deleting
    return isinstance(seen, TrainJobGone | ProgressSeen)


def _shows_end(seen: TrainJobObservation) -> bool:
    if not isinstance(seen, TrainJobSeen):
        return False
    return any(item.is_true and item.type in TERMINAL for item in seen.status.conditions)


def _may_be_old(seen: TrainJobObservation) -> bool:
    if not isinstance(seen, TrainJobSeen) or seen.recorded or not seen.spec.is_ours:
        return False
    return seen.written_here or not seen.status.conditions


TRAINJOB_OBSERVING: ObservationRules[TrainJobState, TrainJobObservation] = ObservationRules(
    turning_points=(TrainJobGone,),
    marks=_marks,
    known_marks=_known_marks,
    subject=_subject,
    reopens=_reopens,
    shows_end=_shows_end,
    may_be_old=_may_be_old,
)
