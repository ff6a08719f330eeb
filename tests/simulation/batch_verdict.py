"""What must hold of Jobs once the faults have stopped and nothing moves any more."""

from jobledger.adapters.postgres.refolding.rebuilding import compare
from jobledger.core.batchjob.decide.decide import BATCHJOB
from jobledger.core.batchjob.phases import Phase
from jobledger.core.batchjob.state import BatchJobState, is_final, is_open
from jobledger.core.batchjob.status.status import FIELDS, LASTING, RISING, status
from jobledger.core.log.chain import canonical
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId
from tests.properties.batch_invariants import (
    check_effects_and_decisions,
    check_one_attempt_at_a_time,
    check_retries,
    check_step,
)
from tests.simulation.batch_nature import ended
from tests.simulation.batch_users import attempts_jobs, users_job_of, users_jobs
from tests.simulation.batch_witness import BatchStory
from tests.simulation.follower import Violation, require
from tests.simulation.world import World

RESTING = frozenset({Phase.SUSPENDED, Phase.COMPLETE, Phase.FAILED})
"""Phases in which a job may stay until somebody does something."""


def unrest_of_batches(world: World) -> str:
    """Return what still moves, or is still to be done; empty if nothing is."""
    jobs = {text(job, "metadata", "uid"): job for job in users_jobs(world.api)}
    for uid, job in jobs.items():
        if uid not in world.witness.batches.streams:
            return f"Job {text(job, 'metadata', 'name')} is not in the log"
    for story in world.witness.batches.stories.values():
        identity = story.state.identity
        job_of = jobs.get(identity.uid) if identity is not None else None
        if reason := _unrest_of(story.state, job_of, lost=bool(story.lost) or story.restored):
            return f"Job {identity.name if identity else '?'}: {reason}"
    return ""


def _unrest_of(state: BatchJobState, job: Manifest | None, *, lost: bool) -> str:
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
    shows, meant = dict(child(job, "status")), status(state)
    for name in LASTING - meant.keys():  # a restored start stays until there is one
        shows.pop(name, None)
    if lost:  # what may not change stays, be it that the log has lost that
        shows |= {key: meant[key] for key in RISING if shows.get(key, 0) > meant.get(key, 0)}  # type: ignore[operator]
        shows |= {key: meant[key] for key in LASTING & shows.keys() & meant.keys()}
    if (shown := _plain(shows)) != (is_so := _plain(meant)):
        return f"it shows {shown!r} and is {is_so!r}"
    return ""


def _plain(shown: Manifest) -> bytes:
    return canonical({key: shown[key] for key in shown if key in FIELDS})


def check_batches(world: World) -> None:
    """Hold the Jobs of a run against the invariants of the design, section 10."""
    batches = world.witness.batches
    for stream, story in batches.stories.items():
        try:
            _check_story(world, stream, story)
        except AssertionError as broken:
            raise Violation(f"{stream}: {broken}") from broken
    batches.check_asked_for()
    there = {text(job, "metadata", "uid") for job in users_jobs(world.api)}
    for job in attempts_jobs(world.api):
        owner, name = users_job_of(job), text(job, "metadata", "name")
        require(owner in there, f"Job {name} is left behind")
        story = batches.stories[batches.streams[owner]]
        if not (story.lost and is_final(story.state) and ended(job)):  # of which attempt, is lost
            _check_attempts_job(story.state, job, name)


def _check_story(world: World, stream: StreamId, story: BatchStory) -> None:
    """Invariants 1 to 6 of one job."""
    differences = compare(world, stream)
    require(not differences, f"the rows are not what the log says: {differences[:3]}")
    for replica in world.replicas:
        slot = replica.slots.held(stream)
        if slot is not None and slot.tail.version == len(story.history):
            require(slot.view.state == story.state, f"{replica.actor} holds another state")
    require(BATCHJOB.fold(story.history) == story.state, f"{stream} does not fold to its state")
    check_retries(story.history)
    check_effects_and_decisions(story.history)
    if not story.lost:  # that one has gone may be lost; `BatchWitness` sees those that are there
        check_one_attempt_at_a_time(story.history)
    state = BATCHJOB.initial
    for event in story.history:
        after = BATCHJOB.evolve(state, event)
        check_step(state, event, after)
        state = after


def _check_attempts_job(state: BatchJobState, job: Manifest, name: str) -> None:
    """Invariant 8: nothing runs that was to stop, and nothing is there of an earlier attempt."""
    if state.recorded is not None:
        return  # held: nothing is done for it
    attempt = state.attempt
    current = attempt is not None and name == attempt.job_name
    require(current, f"Job {name} belongs to no present attempt")
    runs = not ended(job) and child(job, "spec").get("suspend") is not True
    require(not (runs and is_final(state)), f"Job {name} outlives its job")
    require(not (runs and state.phase is Phase.SUSPENDED), f"Job {name} of a suspended job runs")
