"""What is true of the facts of every kind of life."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest

from jobledger.core.catalogue import read_event
from jobledger.core.forensics.attempts import cluster_hours, facts
from jobledger.core.forensics.story.causes import ExplainedCauses
from jobledger.core.log.envelope import EventRecord
from jobledger.core.projections.reporting.fold import Folded, Rows, Rules, fold, rows_of
from jobledger.core.projections.view import View, advance
from tests.support.lives import LIVES
from tests.support.recorded import job_called, recorded
from tests.support.train_lives import TRAIN_LIVES, recorded_training

RULES = Rules(causes=ExplainedCauses())


def reported(records: Iterable[EventRecord]) -> Rows:
    """Return the facts of a job."""
    folded = Folded()
    for one in records:
        folded = fold(folded, one, read_event(one), RULES)
    return rows_of(folded)


def records_of(name: str) -> list[EventRecord]:
    """Return the records of a life."""
    if name in TRAIN_LIVES:
        return recorded_training(name)
    with job_called(name):
        return recorded(LIVES[name]())


def table(rows: Rows, name: str) -> list[Any]:
    """Return the facts of a table."""
    return list(rows.facts[f"report_{name}"])


@pytest.mark.parametrize("name", [*LIVES, *TRAIN_LIVES])
def test_the_facts_of_a_life_agree(name: str) -> None:
    records = records_of(name)
    rows = reported(records)
    _, inline = advance(View(), (read_event(one) for one in records))
    (job,) = table(rows, "job")
    same = ("name", "uid", "created_at", "first_seen_at", "ended_at", "deleted_at", "last_event_at")
    assert [getattr(job, one) for one in (*same, "open", "retries")] == [
        getattr(inline.job, one) for one in (*same, "open", "retries")
    ]
    assert job.events == len(records)

    stays = table(rows, "phase")
    assert [one.number for one in stays] == list(range(1, len(stays) + 1))
    for before, after in pairwise(stays):
        assert (before.left_at, before.next_phase) == (after.entered_at, after.phase)
        assert before.entered_at < before.left_at
    assert (stays[-1].phase, stays[-1].entered_at) == (job.phase, job.phase_since)
    assert (stays[-1].left_at is None) == (job.deleted_at is None)

    attempts = table(rows, "attempt")
    assert [(one.number, one.outcome, one.ended_at, one.retried) for one in attempts] == [
        (one.number, one.outcome, one.ended_at, one.retried)
        for one in sorted(inline.attempts, key=lambda one: one.number)
    ]
    assert job.cluster_seconds == sum(one.cluster_seconds for one in attempts)
    assert all(one.cluster_seconds >= 0 <= one.queue_seconds for one in attempts)

    reckoned = cluster_hours(facts(read_event(one) for one in records).attempts)
    assert reckoned * 3600 == pytest.approx(job.cluster_seconds)

    failures = table(rows, "failure")
    assert [one.final for one in failures].count(True) == (job.outcome == "failed")
    assert all(one.cause for one in failures)
    failed = {one.number for one in attempts if one.outcome in ("failed", "lost")}
    assert failed <= {one.attempt for one in failures}
    assert job.failed_attempts >= len(failed)
    assert job.retries == sum(one.retried for one in attempts)
    first = {one.attempt: one.retried for one in reversed(failures)}
    assert all(first[one.number] == one.retried for one in attempts if one.number in failed)
    assert {(one.decision_id, one.state) for one in table(rows, "decision")} == {
        (one.decision_id, one.state) for one in inline.decisions
    }
    hours = table(rows, "activity")
    assert sum(one.events for one in hours) == len(records)
    assert sum(one.effects_requested for one in hours) == len(inline.effects)
