"""Reporting facts of a job first seen with a status: what nobody observed stays unknown."""

from collections.abc import Sequence
from typing import NamedTuple

from jobledger.core.catalogue import JobEvent
from jobledger.core.kinds import JobState
from jobledger.core.projections.reporting.facts import AttemptFact
from jobledger.core.rayjob.events import lifecycle as rayjob
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.trainjob import events as trainjob
from jobledger.core.trainjob.phases import Phase
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.instants import Instant

UNKNOWN = "unknown"
"""Outcome of an attempt whose end was not seen."""

ADOPTIONS = (rayjob.JobAdopted, trainjob.TrainJobAdopted)

_BEFORE_RUNNING = frozenset({"Initializing", "Waiting"})
"""Phases of a RayJob in which its attempt has not run yet."""


class Found(NamedTuple):
    """The attempt in which a job was found."""

    attempt: int = 0
    """Its number; 0: none."""
    may_have_run: bool = False
    """Whether it may have run before the job was found."""


NOT_FOUND = Found()
"""The job was seen from its beginning on."""


def found_after(before: Found, state: JobState, event: JobEvent) -> Found:
    """Return what is known of how a job was found, after an event."""
    if isinstance(event, trainjob.TrainJobAdopted) and isinstance(state, TrainJobState):
        # Its attempt is counted from the first look at its JobSet on.
        idle = state.phase is Phase.SUSPENDED or (
            state.phase is Phase.NEW and not state.created_once
        )
        return before if idle else Found(1, may_have_run=True)
    if isinstance(event, rayjob.JobAdopted) and state.attempt is not None:
        return Found(state.attempt.number, state.phase.value not in _BEFORE_RUNNING)
    return before


def may_have_run(one: AttemptFact, found: Found) -> bool:
    """Return whether an attempt ran, or nobody knows that it did not."""
    unseen = found.may_have_run and one.number == found.attempt
    return one.running_at is not None or one.outcome == UNKNOWN or unseen


def first_run(attempts: Sequence[AttemptFact], found: Found) -> Instant | None:
    """Return when the job first ran; None before, and if that was not seen."""
    if not attempts or attempts[0].number > 1:
        return None
    ran = next((one for one in attempts if may_have_run(one, found)), None)
    return ran.running_at if ran is not None else None


def without_guesses(
    attempts: tuple[AttemptFact, ...], state: JobState, found: Found
) -> tuple[AttemptFact, ...]:
    """Return the attempts without instants at which something was found, and had been so before.

    The first look at a RayCluster is not its creation, nor its readiness if it was ready then; the
    first look at a JobSet at work is not its start.
    """
    if not found.attempt:
        return attempts
    return tuple(
        _without_guesses(one, isinstance(state, RayJobState), found)
        if one.number == found.attempt
        else one
        for one in attempts
    )


def _without_guesses(one: AttemptFact, is_ray: bool, found: Found) -> AttemptFact:  # noqa: FBT001 which kind
    at_first = one.cluster_shared or one.cluster_ready_at == one.cluster_created_at
    guessed = not is_ray and found.may_have_run and one.running_at == one.started_at
    return one._replace(
        cluster_created_at=None,
        cluster_ready_at=None if at_first else one.cluster_ready_at,
        running_at=None if guessed else one.running_at,
    )
