"""Decisions, each of which ends in exactly one event; sums and gaps of what was seen."""

import pytest

from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionFired,
    DecisionScheduled,
    ObservationGapFound,
    ObservationsConfirmed,
    StatusPublished,
)
from jobledger.core.jobs.observations import DecisionDue
from jobledger.core.jobs.pending.decisions import LOOK_FIRST, DecisionKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.values.ids import decision_id_of
from tests.support.rayjob_builders import (
    UNNAMED,
    after,
    due,
    interrupted,
    manifest,
    named,
    nothing_new,
    poll,
    silence,
    submitter,
    written,
)
from tests.support.rayjob_stories import (
    Story,
    failed_attempts,
    failing,
    initializing,
    succeeded,
    working,
)
from tests.support.rows import WHEN, Row, check, play, table

STORIES: dict[str, Story] = {
    "a deadline that fires": (
        *working(active_deadline_seconds=60),
        due(DecisionKind.ACTIVE_DEADLINE),
    ),
    "a pre-running deadline that fires": (
        *initializing(pre_running_deadline_seconds=20),
        due(DecisionKind.PRE_RUNNING_DEADLINE, looked=False),
    ),
    "a grace that fires": (
        *working(),
        poll("SUCCEEDED", 40),
        due(DecisionKind.TRANSITION_GRACE),
    ),
    "a time-out of the submitter that fires": (
        *working(),
        submitter("Complete", 40),
        poll("RUNNING", 41, started_at=25),
        due(DecisionKind.SUBMITTER_FINISHED),
    ),
    "a time-out of the status check that fires": (
        *working(),
        silence(40),
        due(DecisionKind.STATUS_CHECK),
    ),
    "a shutdown that fires": (
        *succeeded(shutdown_after_job_finishes=True),
        due(DecisionKind.TTL_SHUTDOWN),
    ),
    "two retries that fire": failed_attempts(2, backoff_limit=2),
    "decisions that an end cancels": (
        *working(active_deadline_seconds=600),
        silence(35),
        *failing(),
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_each_decision_ends_in_exactly_one_event(story: str) -> None:
    played = play(RAYJOB, STORIES[story])
    scheduled = [e.decision_id for e in played.history if isinstance(e, DecisionScheduled)]
    ended = [
        e.decision_id for e in played.history if isinstance(e, DecisionFired | DecisionCancelled)
    ]
    assert scheduled, "the story schedules something"
    assert sorted(scheduled) == sorted(ended)
    assert played.state.decisions == ()


def test_only_what_ends_an_attempt_that_may_still_succeed_is_looked_at_first() -> None:
    assert {kind.value for kind in LOOK_FIRST} == {
        "active_deadline",
        "job_deadline",
        "transition_grace",
        "submitter_finished",
        "status_check",
    }


UNKNOWN = named(
    DecisionDue(
        id=UNNAMED,
        at=after(500),
        decision_id=decision_id_of(manifest().id, "retry", "another"),
        looked=True,
    )
)
FIRED = (*working(active_deadline_seconds=60), due(DecisionKind.ACTIVE_DEADLINE))


@table(
    Row(
        rule="a firing of a decision that is not pending is no news",
        given=working(),
        when=UNKNOWN,
    ),
    Row(rule="a firing of a decision that has fired is no news", given=FIRED, when=UNKNOWN),
    Row(
        rule="a gap in what was seen of an active job is written down",
        given=working(),
        when=interrupted(31, 40),
        then=(
            ObservationGapFound(
                at=WHEN,
                source="RayCluster",
                since=after(31),
                until=after(40),
                reason="410 Gone",
            ),
        ),
    ),
    Row(
        rule="a gap within one that is known is no news",
        given=(*working(), interrupted(31, 40)),
        when=interrupted(33, 39, "Job"),
    ),
    Row(
        rule="a gap in what was seen of a job that has ended hides nothing",
        given=succeeded(),
        when=interrupted(50, 60),
    ),
    Row(rule="a gap before a job was known hides nothing of it", when=interrupted(50, 60)),
    Row(
        rule="what was seen unchanged is summed up",
        given=working(),
        when=nothing_new(60),
        then=(ObservationsConfirmed(at=WHEN, sources=nothing_new(60).sources),),
    ),
    Row(
        rule="a sum that is older than the last says nothing",
        given=(*working(), nothing_new(60)),
        when=nothing_new(59, count=9),
    ),
    Row(
        rule="what users could see is written down with each write",
        given=working(),
        when=written("Running", 31),
        then=(StatusPublished(at=WHEN, phase="Running", resource_version="7", status_sha="5ha"),),
    ),
    Row(
        rule="a write that is known is told once",
        given=(*working(), written("Running", 31)),
        when=written("Running", 32),
    ),
    Row(rule="a write to a job that nobody knows is no news", when=written("Running", 31)),
)
def test_decisions_and_sums(row: Row) -> None:
    check(RAYJOB, row)
