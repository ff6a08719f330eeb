"""An end that nobody saw for hours is dated by what tells of it: rows, facts, and what was held."""

from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import asdict

from jobledger.core.catalogue import read_event
from jobledger.core.forensics.attempts import facts as story_facts
from jobledger.core.jobs.history.told_end import told_end
from jobledger.core.log.envelope import EventRecord
from jobledger.core.projections.view import View, advance
from tests.rules.projections.test_reports import rows, train_records
from tests.support import batchjobs as batch
from tests.support import trainjobs as train
from tests.support.batch_lives import recorded_job
from tests.support.rayjob_builders import after, poll, submitter
from tests.support.rayjob_stories import working
from tests.support.recorded import recorded

BACK = 4 * 3600.0
"""When the controller is at work again, in seconds after noon."""


def trained(at: float, completed: bool) -> Iterable[EventRecord]:
    """Return the records of a TrainJob whose JobSet ended at 60 s, which is seen at `at`."""
    end = train.completed_end(60) if completed else train.failed_end(60)
    return train_records((*train.running(), train.jobset(at, end=end)))


def run(at: float, completed: bool) -> Iterable[EventRecord]:
    """Return the records of a Job that ended at 60 s, which is seen at `at`."""
    end = batch.complete_end(60) if completed else batch.failed_end(60)
    return recorded_job((*batch.running(), batch.job(at, end=end)))


Life = Callable[[float, bool], Iterable[EventRecord]]
LIVES: tuple[Life, ...] = (trained, run)


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("completed", [True, False])
@pytest.mark.parametrize(("seen_at", "ended_at"), [(BACK, 61), (60.4, 60.4), (60, 60)])
def test_an_attempt_ends_when_what_it_ran_as_says(
    life: Life, seen_at: float, ended_at: float, *, completed: bool
) -> None:
    """In whole seconds: it may have ended up to one later."""
    records = tuple(life(seen_at, completed))
    made = rows(records)
    (attempt,) = (asdict(one) for one in made.facts["report_attempt"])
    end = train.after(ended_at)
    assert attempt["ended_at"] == end
    assert attempt["cluster_seconds"] == (end - attempt["started_at"]).total_seconds()
    (row,) = advance(View(), map(read_event, records))[1].attempts
    assert row.ended_at == end
    (told,) = story_facts(map(read_event, records)).attempts
    assert (told.ended_at, told.cluster_until) == (end, end)
    assert [asdict(one)["failed_at"] for one in made.facts["report_failure"]] == (
        [] if completed else [end]
    )


@pytest.mark.parametrize("status", ["SUCCEEDED", "STOPPED", "FAILED"])
@pytest.mark.parametrize("seen_at", [BACK, 62])
def test_an_attempt_of_a_rayjob_ends_when_ray_says(status: str, seen_at: float) -> None:
    """That its RayCluster stood on until then is told; the job ends when that was decided."""
    end = poll(status, seen_at, started_at=25, ended_at=60)
    records = recorded((*working(), end, submitter("Complete", seen_at)))
    facts = rows(records).facts
    (attempt,), (job,) = map(asdict, facts["report_attempt"]), map(asdict, facts["report_job"])
    assert attempt["ended_at"] == after(60)
    assert attempt["cluster_seconds"] == seen_at - 1
    assert job["ended_at"] == after(seen_at)
    (row,) = advance(View(), map(read_event, records))[1].attempts
    (told,) = story_facts(map(read_event, records)).attempts
    assert (row.ended_at, told.ended_at) == (after(60), after(60))
    assert (row.outcome, told.outcome) == (attempt["outcome"], attempt["outcome"])
    assert [asdict(one)["failed_at"] for one in facts["report_failure"]] == (
        [after(60)] if status == "FAILED" else []
    )


@pytest.mark.parametrize(
    ("told", "ended_at"),
    [(None, 40), (5, 300), (35, 35), (200, 40)],
    ids=["not told", "before it ran", "before it was seen", "after it was seen"],
)
def test_an_attempt_of_a_rayjob_ends_at_the_latest_when_its_end_was_seen(
    told: float | None, ended_at: float
) -> None:
    """It ran at 11 s, and its submitter takes minutes; a head's clock may be behind, or ahead."""
    story = *working(), poll("FAILED", 40, ended_at=told), submitter("Complete", 300)
    records = recorded(story)
    (attempt,) = map(asdict, rows(records).facts["report_attempt"])
    (row,) = advance(View(), map(read_event, records))[1].attempts
    (fact,) = story_facts(map(read_event, records)).attempts
    assert (attempt["ended_at"], row.ended_at, fact.ended_at) == (after(ended_at),) * 3


@pytest.mark.parametrize(("life", "completed"), [(trained, True), (trained, False), (run, True)])
def test_a_job_is_in_its_last_state_since_it_ended(life: Life, *, completed: bool) -> None:
    """What it ran until then is no more than it lasted; whether a Job failed is judged later."""
    facts = rows(life(BACK, completed)).facts
    (job,), stays = (asdict(one) for one in facts["report_job"]), facts["report_phase"]
    assert (job["phase_since"], job["ended_at"]) == (train.after(61), train.after(60))
    last, before = asdict(stays[-1]), asdict(stays[-2])
    assert (last["phase"], before["phase"]) == ("Complete" if completed else "Failed", "Running")
    assert job["running_seconds"] == (train.after(61) - before["entered_at"]).total_seconds()


@pytest.mark.parametrize(
    ("told", "since", "found", "ended"),
    [
        (None, 10, 300, 300),
        (61, 10, 300, 61),
        (61, 10, 60.4, 60.4),
        (61, 60.9, 300, 61),
        (61, 61.5, 300, 300),
    ],
    ids=["not told", "told", "seen at once", "at the same time", "by a clock that is behind"],
)
def test_an_end_is_as_told_where_that_can_be(
    told: float | None, since: float, found: float, ended: float
) -> None:
    known = None if told is None else train.after(told)
    assert told_end(known, train.after(since), train.after(found)) == train.after(ended)
