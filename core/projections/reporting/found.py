"""Reporting facts of a job first seen with a status: what nobody observed stays unknown."""

from collections.abc import Sequence

from msgspec.structs import replace

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.history.report_news import Found
from jobledger.core.kinds import ROLES, JobState, kind_of
from jobledger.core.projections.reporting.facts import AttemptFact
from jobledger.core.values.instants import Instant

UNKNOWN = "unknown"
"""Outcome of an attempt whose end was not seen."""


def found_after(before: Found, state: JobState, event: JobEvent) -> Found:
    """Return what is known of how a job was found, after an event."""
    if not isinstance(event, ROLES.adopted):
        return before
    found = kind_of(state).log.found(state)
    return before if found is None else found


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
        _without_guesses(one, found, runs_when_seen=kind_of(state).log.runs_when_seen)
        if one.number == found.attempt
        else one
        for one in attempts
    )


def _without_guesses(one: AttemptFact, found: Found, *, runs_when_seen: bool) -> AttemptFact:
    at_first = one.cluster_shared or one.cluster_ready_at == one.cluster_created_at
    guessed = runs_when_seen and found.may_have_run and one.running_at == one.started_at
    return replace(
        one,
        cluster_created_at=None,
        cluster_ready_at=None if at_first else one.cluster_ready_at,
        running_at=None if guessed else one.running_at,
        first_step_at=None if found.may_have_run else one.first_step_at,
    )
