"""All that can happen next in a world, and the well-behaved end of it."""

from collections.abc import Iterator
from functools import partial

from jobledger.core.jobs.pending.effects import BUILT_FROM_SPEC, Outcome
from jobledger.core.rayjob.phases import ENDED, JobStatus, Phase
from jobledger.core.rayjob.rules.pod_looks import desired_look
from jobledger.core.rayjob.state import wants_poll
from tests.properties.world import SELECTED, Child, Move, World
from tests.support.rayjob_builders import INTERACTIVE, pod

CALM_STEPS_MAX = 600
EVICTED = pod("worker", "Failed", reason="Evicted", disrupted=True)
PULLING = pod("worker", "Pending", reason="ImagePullBackOff", image_trouble=True)
OUTCOMES = (JobStatus.SUCCEEDED, JobStatus.FAILED)


CHOICES = 16 * 60
"""How many choices there are; most are ordinary, some trouble, a few a user's."""


def choose(world: World, choice: int) -> Move | None:
    """Return something that can happen next, or None if nothing of the chosen sort can."""
    sort, index = choice % 16, choice // 16
    if sort < 11:
        asked = [world.head_answers] if wants_poll(world.state) else []
        possible = [*_owed(world), *asked, *_looks(world), *_of_nature(world, OUTCOMES)]
    elif sort < 12:
        possible = [partial(world.time_passes, n) for n in range(len(world.state.decisions))]
    elif sort < 15:
        possible = list(_of_trouble(world))
    else:
        possible = list(_of_users(world))
    return possible[index % len(possible)] if possible else None


def _owed(world: World) -> Iterator[Move]:
    """Yield what a well-behaved world owes: news and outcomes."""
    for source, queue in world.told.items():
        if queue and (source == "jobs" or world.state.identity is not None):
            yield partial(world.deliver, source)
    for effect in world.sent:
        outdated = (
            effect.desired.kind in BUILT_FROM_SPEC and effect.digest != f"digest-{world.generation}"
        )
        outcome = Outcome.SUPERSEDED if outdated else Outcome.SUCCEEDED
        yield partial(world.arrive, effect, outcome)


def _looks(world: World) -> Iterator[Move]:
    """Yield what a look at the Pods may show, where one is waited for."""
    if desired_look(world.state) is not None:
        yield world.pods_are_seen
        yield partial(world.pods_are_seen, EVICTED)
        yield partial(world.pods_are_seen, PULLING)
        yield partial(world.pods_are_seen, trouble="pods is forbidden")


def _of_nature(world: World, outcomes: tuple[JobStatus, ...]) -> Iterator[Move]:
    for child in world.clusters.values():
        if child.owned and (child.deleting or not world.exists):
            yield partial(world.cluster_goes, child)
        elif child.state != "ready":
            yield partial(world.ready, child)
    for child in world.submitters.values():
        yield from _of_submitter(world, child)
    for job_id, status in world.ray.items():
        if status is JobStatus.PENDING:
            yield partial(world.ray_moves, job_id, JobStatus.RUNNING)
        if status is JobStatus.RUNNING:
            for end in outcomes:
                yield partial(world.ray_moves, job_id, end)
    attempt = world.state.attempt
    interactive = world.spec.get("submission_mode") is INTERACTIVE
    if interactive and attempt is not None and attempt.job_id and attempt.job_id not in world.ray:
        yield partial(world.ray_moves, attempt.job_id, JobStatus.PENDING)


def _of_submitter(world: World, child: Child) -> Iterator[Move]:
    attempt = world.state.attempt
    if child.deleting or not world.exists:
        yield partial(world.submitter_goes, child)
    elif not child.state and attempt is not None and attempt.job_id:
        status = world.ray.get(attempt.job_id)
        if status is None:
            yield world.submitter_submits
        elif status in ENDED:
            yield partial(world.submitter_ends, child, "Complete")


def _of_trouble(world: World) -> Iterator[Move]:
    for effect in world.sent:
        yield partial(world.arrive, effect, Outcome.FALTERED)
        yield partial(world.arrive, effect, Outcome.FAILED)
    for child in world.clusters.values():
        if child.name != SELECTED:
            yield partial(world.cluster_goes, child)
    for child in world.submitters.values():
        yield partial(world.submitter_goes, child)
        if not child.state:
            yield partial(world.submitter_ends, child, "Failed")
            yield partial(world.submitter_ends, child, "Complete")
    if world.ray:
        yield world.ray.clear
    for job_id, status in world.ray.items():
        if status not in ENDED:
            yield partial(world.ray_moves, job_id, JobStatus.STOPPED)
    if wants_poll(world.state):
        yield world.head_is_silent


def _of_users(world: World) -> Iterator[Move]:
    if not world.exists or world.deleting:
        return
    selects = bool(world.spec.get("cluster_selector"))
    if not selects:
        yield partial(world.user_edits, suspend=not world.spec.get("suspend"))
        yield partial(world.user_edits, backoff_limit=2)
    yield partial(world.user_edits, problem="" if world.problem else "not valid")
    yield partial(world.user_edits, active_deadline_seconds=int(world.now) + 50)
    yield partial(world.user_edits, job_id="mine")
    yield partial(world.user_edits, ttl_seconds_after_finished=7)
    yield world.user_deletes


def calm(world: World) -> None:
    """Let the world be well-behaved until nothing happens any more.

    Raises:
        AssertionError: it does not come to rest.
    """
    for _ in range(CALM_STEPS_MAX):
        owed = [*_owed(world), *_of_nature(world, (world.ending,))]
        known = len(world.history)
        world.now += 1
        if owed:
            owed[0]()
            continue
        if wants_poll(world.state):
            world.head_answers()
        if desired_look(world.state) is not None:
            world.pods_are_seen()
        if len(world.history) > known:
            continue
        if not world.state.decisions:
            return
        world.time_passes()
    message = f"the world does not come to rest: {[type(e).__name__ for e in world.history[-9:]]}"
    raise AssertionError(message)


WAITING = frozenset(
    {Phase.SUSPENDED, Phase.WAITING, Phase.VALIDATION_FAILED, Phase.COMPLETE, Phase.FAILED}
)
"""Phases in which a job may stay for ever."""
