"""What must hold of TrainJobs once the faults have stopped and nothing moves any more."""

from collections import Counter
from typing import TypeVar

from jobledger.adapters.postgres.refolding.rebuilding import compare
from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionFired,
    DecisionScheduled,
    EffectFailed,
    EffectRequested,
    EffectSucceeded,
    EffectSuperseded,
)
from jobledger.core.log.chain import canonical
from jobledger.core.ports.cluster import CONFIGMAPS, JOBSETS, TRAINJOBS
from jobledger.core.trainjob.building.runtimes import trainjob_owner
from jobledger.core.trainjob.conditions import found, is_true
from jobledger.core.trainjob.decide.decide import TRAINJOB
from jobledger.core.trainjob.phases import (
    COMPLETE,
    CONDITIONS_MAX,
    CREATED,
    DEADLINE_EXCEEDED,
    FAILED,
    OURS,
    SUSPENDED,
    Phase,
)
from jobledger.core.trainjob.state import TrainJobState, is_final, is_open
from jobledger.core.trainjob.status.status import FIELDS, status
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId
from tests.simulation.follower import require
from tests.simulation.jobsets import ended
from tests.simulation.oddities import is_elsewhere
from tests.simulation.plugins import Faring
from tests.simulation.train_witness import TrainStory
from tests.simulation.training import is_real
from tests.simulation.training.verdict import check_real_trains, unwritten_progress
from tests.simulation.world import World

Id = TypeVar("Id")
PLUGINS_MAX = CONDITIONS_MAX - len(OURS)
"""So many conditions of plugins are shown."""

RESTING = frozenset(
    {Phase.SUSPENDED, Phase.BUILD_FAILED, Phase.CREATION_FAILED, Phase.COMPLETE, Phase.FAILED}
)
"""Phases in which a job may stay until somebody does something."""


def unrest_of_trains(world: World) -> str:
    """Return what still moves, or is still to be done; empty if nothing is."""
    jobs = {text(job, "metadata", "uid"): job for job in world.api.all(TRAINJOBS)}
    for uid, job in jobs.items():
        if uid not in world.witness.trains.streams and not is_elsewhere(job):
            return f"TrainJob {text(job, 'metadata', 'name')} is not in the log"
    for story in world.witness.trains.stories.values():
        identity = story.state.identity
        job_of = jobs.get(identity.uid) if identity is not None else None
        # One that was seen before its status was put back does not know it either.
        unknown = bool(story.lost) or (is_real(world.seed) and _is_restored(world, story))
        reason = _unrest_of(story.state, job_of, lost=unknown)
        if is_real(world.seed) and job_of is not None and not story.lost:
            reason = reason or unwritten_progress(story.state, job_of)
        if reason:
            return f"TrainJob {identity.name if identity else '?'}: {reason}"
    return ""


def _is_restored(world: World, story: TrainStory) -> bool:
    identity = story.state.identity
    return identity is not None and identity.uid in world.witness.batches.restored


def _unrest_of(state: TrainJobState, job: Manifest | None, *, lost: bool) -> str:
    if job is None:
        return "" if state.deleted_at is not None else "its object is gone and it is not"
    if state.recorded is not None and state.recorded.behind:
        return "" if state.recorded.why else "it is held without a reason"
    if state.effects or state.decisions:
        what = [item.desired.kind.value for item in state.effects]
        what += [item.kind.value for item in state.decisions]
        return f"left to do: {what}"
    if state.phase not in RESTING:
        return f"it is {state.phase.value or 'new'}"
    if is_final(state) and is_open(state):
        return "it has ended and is open"
    shows, meant = child(job, "status"), status(state)
    if lost and (is_final(state) or not state.shown_jobs):
        # Counts that the log has lost stay: a merge takes none away.
        shows = {key: shows[key] for key in shows if key in meant}
    if (shown := _plain(shows)) != (is_so := _plain(meant)):
        return f"it shows {shown!r} and is {is_so!r}"
    return ""


def _plain(shown: Manifest) -> bytes:
    return canonical({key: shown[key] for key in shown if key in FIELDS})


def check_trains(world: World) -> None:
    """Hold the TrainJobs of a run against the invariants of the design, section 10."""
    trains = world.witness.trains
    for stream, story in trains.stories.items():
        _check_story(world, stream, story)
        _check_conditions(story)
        _check_effects(story)
    trains.check_asked_for()
    there = {text(job, "metadata", "uid"): job for job in world.api.all(TRAINJOBS)}
    for resource in (JOBSETS, CONFIGMAPS):
        for item in world.api.all(resource):
            owner, what = trainjob_owner(item), f"{resource.kind} {text(item, 'metadata', 'name')}"
            require(owner in there, f"{what} is left behind")
            if resource is JOBSETS:
                story = trains.stories[trains.streams[owner]]
                _check_jobset(story, item, what)
                # An end that was lost is not waited with for plugins, nor one that was taken back.
                if not (is_final(story.state) and (story.lost or is_real(world.seed))):
                    _check_plugin(story.state, item, what)
    if is_real(world.seed):
        check_real_trains(world.api, world.witness)


def _check_story(world: World, stream: StreamId, story: TrainStory) -> None:
    """Invariants 1, 4 and 5 of one job."""
    differences = compare(world, stream)
    require(not differences, f"the rows are not what the log says: {differences[:3]}")
    for replica in world.replicas:
        slot = replica.slots.held(stream)
        if slot is not None and slot.tail.version == len(story.history):
            require(slot.view.state == story.state, f"{replica.actor} holds another state")
    require(TRAINJOB.fold(story.history) == story.state, f"{stream} does not fold to its state")
    state = TRAINJOB.initial
    for event in story.history:
        after = TRAINJOB.evolve(state, event)
        for kind in (COMPLETE, FAILED):
            before = found(state.conditions, kind)
            stays = before is None or found(after.conditions, kind) == before
            require(stays, f"{type(event).__name__} changes {kind} of a job that has ended")
        state = after


def _check_conditions(story: TrainStory) -> None:
    """Created tells of the latest apply, Suspended of the specification, and there is one end."""
    state = story.state
    if state.deleted_at is not None or state.manifest is None or state.recorded is not None:
        return  # nothing is decided about a job that is held, whatever its users ask for
    conditions = state.conditions
    ends = [kind for kind in (COMPLETE, FAILED) if found(conditions, kind) is not None]
    require(len(ends) <= 1, f"it has ended twice: {ends}")
    wants = state.manifest.spec.suspend
    require(is_true(conditions, SUSPENDED) == wants, f"Suspended is not {wants}")
    if state.built is not None and state.built.digest:  # else by others, or what is lost
        made = state.built.phase is Phase.CREATED
        require(is_true(conditions, CREATED) == made, f"Created is not {made}")


def _check_jobset(story: TrainStory, jobset: Manifest, what: str) -> None:
    """Invariant 8: nothing runs that was to stop."""
    state = story.state
    late = state.reason == DEADLINE_EXCEEDED and not ended(jobset)
    require(not late, f"{what} outlives the deadline of its job")
    runs = child(jobset, "spec").get("suspend") is not True
    held = state.phase is Phase.SUSPENDED and runs
    require(not held, f"{what} of a suspended job runs")


def _check_plugin(state: TrainJobState, jobset: Manifest, what: str) -> None:
    """Where a plugin says how a JobSet fares, that is shown."""
    propagates = state.manifest is not None and state.manifest.policy.propagates
    if not propagates or state.recorded is not None:
        return
    known_as = state.jobset.uid if state.jobset is not None else ""
    if is_final(state) and known_as != text(jobset, "metadata", "uid"):
        return  # put in its place after the end
    (said,) = Faring().conditions({}, jobset)
    shown = found(state.conditions, said.type)
    if shown is None and len(state.conditions) - len(OURS & _kinds(state)) == PLUGINS_MAX:
        return  # others were first
    known = (shown.status, shown.reason) if shown is not None else ()
    require(known == (said.status, said.reason), f"{what} is {said}, the job says {known}")


def _kinds(state: TrainJobState) -> frozenset[str]:
    return frozenset(one.type for one in state.conditions)


def _check_effects(story: TrainStory) -> None:
    """Invariant 5: each effect and each decision begins once and ends once."""
    ends = (EffectSucceeded, EffectFailed, EffectSuperseded)
    begun = Counter(e.effect_id for e in story.history if isinstance(e, EffectRequested))
    over = Counter(e.effect_id for e in story.history if isinstance(e, ends))
    _check_pairs(begun, over, {item.effect_id for item in story.state.effects})
    resolutions = (DecisionFired, DecisionCancelled)
    made = Counter(e.decision_id for e in story.history if isinstance(e, DecisionScheduled))
    done = Counter(e.decision_id for e in story.history if isinstance(e, resolutions))
    _check_pairs(made, done, {item.decision_id for item in story.state.decisions})


def _check_pairs(begun: Counter[Id], over: Counter[Id], open_now: set[Id]) -> None:
    once = all(count == 1 for count in (*begun.values(), *over.values()))
    require(once and set(over) <= set(begun), "an effect or a decision is doubled")
    require(open_now == set(begun) - set(over), "what is open is not what has not ended")
