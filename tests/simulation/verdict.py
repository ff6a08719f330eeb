"""What must hold once the faults have stopped and nothing moves any more."""

from datetime import timedelta

from jobledger.adapters.postgres.refolding.rebuilding import compare
from jobledger.adapters.service.status.shown import PROGRESS
from jobledger.adapters.service.work.folding_code import folding_code
from jobledger.adapters.service.work.slots import fold_slot
from jobledger.core.catalogue import read_event
from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.replay.changes import Change
from jobledger.core.forensics.replay.replay import replay
from jobledger.core.forensics.replay.what_if import ask
from jobledger.core.log.chain import GENESIS, canonical, first_fault
from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS
from jobledger.core.projections.snapshot import folded_in
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.deletion import covering_rules
from jobledger.core.rayjob.ending import is_open
from jobledger.core.rayjob.events.lifecycle import RetryGranted
from jobledger.core.rayjob.observations.children import owner_uid
from jobledger.core.rayjob.phases import FINAL, Phase
from jobledger.core.rayjob.spec.spec import DeletionPolicy
from jobledger.core.rayjob.state import RayJobState, selects_cluster, wants_poll
from jobledger.core.rayjob.status.status import FIELDS, status
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant
from tests.properties.invariants import (
    check_effects_and_decisions,
    check_one_cluster,
    check_retries,
    check_step,
)
from tests.simulation.batch_verdict import check_batches, unrest_of_batches
from tests.simulation.oddities import is_elsewhere
from tests.simulation.train_verdict import check_trains, unrest_of_trains
from tests.simulation.witness import Story, Violation, require
from tests.simulation.world import World
from tests.support.memory.ray_jobs import TERMINAL

HOUR = timedelta(hours=1)
EVENTS_PER_HOUR_MAX = 600
"""Of one job, with users who edit and a network that fails. The first 190 seeds: 170 at most."""

RESTING = frozenset(
    {Phase.SUSPENDED, Phase.WAITING, Phase.VALIDATION_FAILED, Phase.COMPLETE, Phase.FAILED}
)
"""Phases in which a job may stay until somebody does something."""


def holds_any(world: World) -> bool:
    """Return whether any job is held because the ledger is older than the cluster."""
    rays = [story.state.recorded for story in world.witness.stories.values()]
    trains = [story.state.recorded for story in world.witness.trains.stories.values()]
    batches = [story.state.recorded for story in world.witness.batches.stories.values()]
    return any(one is not None and one.behind for one in (*rays, *trains, *batches))


def unrest(world: World) -> str:
    """Return what still moves, or is still to be done; empty if nothing is."""
    for replica in world.replicas:
        if not replica.is_idle():
            return f"{replica.actor} is busy"
    jobs = {text(job, "metadata", "uid"): job for job in world.api.all(RAYJOBS)}
    for job in jobs.values():
        if not world.is_in_log(job) and not is_elsewhere(job):
            return f"{text(job, 'metadata', 'name')} is not in the log"
    for story in world.witness.stories.values():
        identity = story.state.identity
        shown = jobs.get(identity.uid) if identity is not None else None
        reason = _unrest_of(story.state, shown, lost=bool(story.lost))
        if reason := reason or _unseen_end(world, story.state):
            return f"{identity.name if identity else '?'}: {reason}"
    return unrest_of_trains(world) or unrest_of_batches(world)


def unheld(world: World) -> str:
    """Return which shards with jobs nobody holds who lives: news of their jobs waits."""
    leases, now = world.lease_table.current(), world.clock.now()
    alive = {replica.actor for replica in world.replicas}
    held = {at for at, lease in leases.items() if lease.owner in alive and now <= lease.until}
    waiting = world.shards_with_jobs() - held
    return f"nobody holds the shards {sorted(waiting)}" if waiting else ""


def _unrest_of(state: RayJobState, job: Manifest | None, *, lost: bool) -> str:
    if job is None:
        return "" if state.deleted_at is not None else "its object is gone and it is not"
    if state.recorded is not None and state.recorded.behind:
        return "" if state.recorded.why else "it is held without a reason"
    if text(job, "metadata", "deletionTimestamp"):
        # Whoever runs a job that was handed over takes the finalizer away, as upstream has it.
        return "" if is_elsewhere(job) else "it is being deleted"
    if state.effects or state.decisions:
        what = [item.desired.kind.value for item in state.effects]
        what += [item.kind.value for item in state.decisions]
        return f"left to do: {what}"
    return "" if is_elsewhere(job) else _unlike(state, job, lost=lost)


def _unlike(state: RayJobState, job: Manifest, *, lost: bool) -> str:
    """Return in what a job that rests is not as it should be, or is shown otherwise."""
    if state.phase not in RESTING:
        return f"it is {state.phase.value or 'new'}"
    if state.phase in FINAL and is_open(state):
        return "it has ended and is open"
    is_so, shows = status(state), dict(child(job, "status"))
    if lost and state.phase in FINAL:  # an end shows what it did, be it that the log has lost that
        shows = {key: shows[key] for key in shows if key in is_so or key not in PROGRESS}
    if (shown := _plain(shows)) != (known := _plain(is_so)):
        return f"it shows {shown!r} and is {known!r}"
    return ""


def _unseen_end(world: World, state: RayJobState) -> str:
    """Return that the Ray job of a job that waits has ended, which the next look at it will tell.

    One in ValidationFailed may run, and is looked at if its Ray job is known to be handed in.
    """
    attempt = state.attempt
    looked_at = is_open(state) and wants_poll(state)
    if attempt is None or not looked_at or state.entrypoint.has_ended:
        return ""
    has_ended = world.heads.status(attempt.address, attempt.job_id) in TERMINAL
    return "its Ray job has ended, which nobody has seen" if has_ended else ""


def _plain(shown: Manifest) -> bytes:
    return canonical({key: shown[key] for key in shown if key in FIELDS})


def check_all(world: World) -> None:
    """Hold the end of a run against the invariants of the design, section 10."""
    _check_log(world)
    _check_snapshots(world)
    for stream, story in world.witness.stories.items():
        _check_story(world, stream, story)
    _check_leaks(world)
    check_trains(world)
    check_batches(world)
    world.witness.check_asked_for(world.nature.removed)
    require(not world.secret_in_log(), "a secret stands in the log")


def _check_log(world: World) -> None:
    """Invariant 7: nothing is lost, doubled, moved or changed; what was seen led to all of it."""
    stored = world.log.read_after(0, 10**9)
    positions = [item.position for item in stored]
    require(positions == list(range(1, len(stored) + 1)), "the log has a gap")
    witness = world.witness
    for stream in (*witness.stories, *witness.trains.stories, *witness.batches.stories):
        records = [item.record for item in world.log.read_stream(stream)]
        require(first_fault(GENESIS, records) is None, f"the chain of {stream} is broken")
        versions = [record.version for record in records]
        require(versions == list(range(1, len(records) + 1)), f"{stream} has a gap")
        ids = {record.event_id for record in records}
        require(len(ids) == len(records), f"{stream} holds an event twice")
        again = replay(records)
        otherwise = (*again.unknown, *again.divergences)
        require(not otherwise, f"{stream} is decided otherwise by what it saw: {otherwise[:1]}")
        same = ask(facts(read_event(record) for record in records), Change())
        require(not same.is_different, f"{stream} had ended otherwise by its own policy: {same}")
        _check_pace(stream, [record.occurred_at for record in records])


def _check_snapshots(world: World) -> None:
    """What a start goes on from is what the log adds up to until there."""
    for one in world.snapshots.read(list(world.snapshots.kept), folding_code()):
        folded = fold_slot(one.stream_id, world.log.read_stream(one.stream_id)[: one.version])
        known = folded_in(one).view
        require(known == folded.view, f"{one.stream_id} is another in its snapshot: {known}")


def _check_pace(stream: StreamId, instants: list[Instant]) -> None:
    """No loop outruns its pause: a job has no more events in an hour than its faults explain."""
    instants = sorted(instants)
    for number in range(EVENTS_PER_HOUR_MAX, len(instants)):
        span = instants[number] - instants[number - EVENTS_PER_HOUR_MAX]
        require(span > HOUR, f"{stream} has {EVENTS_PER_HOUR_MAX} events within {span}")


def _check_story(world: World, stream: StreamId, story: Story) -> None:
    """Invariants 1 to 6 of one job."""
    differences = compare(world, stream)
    require(not differences, f"the rows are not what the log says: {differences[:3]}")
    for replica in world.replicas:
        slot = replica.slots.held(stream)
        if slot is not None and slot.tail.version == len(story.history):
            require(slot.view.state == story.state, f"{replica.actor} holds another state")
    try:
        _check_retries(story)
        check_effects_and_decisions(story.history)
        if not story.lost:  # that one has gone may be lost; `Witness` sees those that are there
            check_one_cluster(story.history)
        state = RAYJOB.initial
        for event in story.history:
            after = RAYJOB.evolve(state, event)
            check_step(state, event, after)
            state = after
    except AssertionError as broken:
        raise Violation(f"{stream}: {broken}") from broken


def _check_retries(story: Story) -> None:
    """Invariant 2. What a status tells of a grant that is lost was granted: by whom, is known.

    Not by which limit: users may have lowered it since, and the events that knew are lost.
    """
    check_retries(story.history)
    granted = {event.attempt for event in story.lost if isinstance(event, RetryGranted)}
    for event in story.history:
        if isinstance(event, RetryGranted) and event.inferred:
            require(event.attempt in granted, f"nobody has granted {event}")


def _check_leaks(world: World) -> None:
    """Invariant 8: nothing is left that nobody needs."""
    jobs = {text(job, "metadata", "uid"): job for job in world.api.all(RAYJOBS)}
    for resource in (RAYCLUSTERS, BATCH_JOBS):
        for item in world.api.all(resource):
            owner, name = owner_uid(item), text(item, "metadata", "name")
            if not owner:
                continue
            what = f"{resource.kind} {name}"
            require(owner in jobs, f"{what} is left behind")
            if is_elsewhere(jobs[owner]):
                continue  # nothing is deleted for it
            state = world.witness.stories[world.witness.streams[owner]].state
            if state.recorded is not None:
                continue  # held: nothing is deleted for it
            require(state.phase is not Phase.SUSPENDED, f"{what} of a suspended job is there")
            if resource is RAYCLUSTERS:
                _check_cluster(state, what, name)


def _check_cluster(state: RayJobState, what: str, name: str) -> None:
    attempt, manifest = state.attempt, state.manifest
    current = attempt is not None and name == attempt.cluster_name
    require(current, f"{what} belongs to no present attempt")
    require(not selects_cluster(state), f"{what} was made for a job that selects one")
    spec = manifest.spec if manifest is not None else None
    strategy = spec is not None and spec.has_deletion_strategy
    ends = spec is not None and spec.shutdown_after_job_finishes and not strategy
    require(state.phase not in FINAL or not ends, f"{what} outlives its job")
    covered = {rule.policy for rule in covering_rules(state)}
    due = covered & {DeletionPolicy.CLUSTER, DeletionPolicy.SELF}
    require(not due, f"{what} is there, though {sorted(due)} was due")
