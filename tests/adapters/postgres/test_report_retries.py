"""What reports say of retries that another attempt shows, and of pauses that a deadline ends."""

from datetime import timedelta
from unittest.mock import patch

import pytest
from sqlalchemy import Engine, text

from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Question, Row
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.log.envelope import EventRecord
from tests.rules.rayjob.test_job_deadline import PAUSING
from tests.support.ledgers import postgres_ledger, tampering
from tests.support.rayjob_builders import due, manifest
from tests.support.rayjob_stories import built, cleared, failing, readied, seen
from tests.support.recorded import append_records, recorded
from tests.support.records import NOON
from tests.support.reported import differences, project_all
from tests.support.train_lives import TRAIN_LIVES, recorded_training
from tests.support.trainjobs import (
    Step,
    applied,
    completed_end,
    counts,
    jobset,
    jobset_gone,
    running,
)

pytestmark = pytest.mark.postgres

DAY = timedelta(days=1)


def reported(engine: Engine, records: list[EventRecord], name: str) -> Row:
    """Return what a report says of a job alone."""
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    append_records(ledger, records)
    project_all(engine)
    assert differences(engine) == []
    question = Question(since=NOON - DAY, until=NOON + DAY)
    total = ask(engine, REPORTS[name], question).total
    assert total is not None
    return total


def test_a_jobset_that_is_made_anew_is_a_retry_of_the_lost_attempt(engine: Engine) -> None:
    told = reported(engine, recorded_training("training-made-its-jobset-anew"), "retries")
    assert (told["retries"], told["failed_again"]) == (1, 1)
    assert (told["not_retried"], told["wait_p50_seconds"]) == (1, 1.0)
    with engine.connect() as connection:
        classes = connection.execute(text("SELECT cause FROM report_v1.attempts ORDER BY attempt"))
        assert classes.scalars().all() == ["jobset-deleted", "application"]


def test_a_retry_does_not_wait_while_its_job_is_suspended(engine: Engine) -> None:
    """Failed at 39 s, cleared away at 100 s, suspended from then on for an hour."""
    story = (
        *seen(backoff_limit=1),
        *built(),
        *readied(),
        *failing(),
        manifest(45, generation=2, suspend=True, backoff_limit=1),
        *cleared(),
        manifest(3660, generation=3, backoff_limit=1),
    )
    told = reported(engine, recorded(story), "retries")
    with engine.connect() as connection:
        found = connection.execute(text("SELECT phase, seconds FROM report_v1.phases"))
        assert ("Suspended", 3560.0) in [(row.phase, row.seconds) for row in found]
    assert (told["retries"], told["wait_p50_seconds"]) == (1, 61.0)


MANY_RETRIES = """
    INSERT INTO report_attempt SELECT (jsonb_populate_record(a, jsonb_build_object('number', n,
        'started_at', a.started_at + n * interval '1 min', 'retried', true,
        'ended_at', a.started_at + n * interval '1 min' + interval '10 s'))).*
    FROM report_attempt a, generate_series(2, 1000) n WHERE a.number = 1
"""
MANY_STAYS = """
    INSERT INTO report_phase SELECT (jsonb_populate_record(p, jsonb_build_object(
        'number', n * 10, 'attempt', n, 'phase', 'Suspended',
        'entered_at', a.started_at + interval '20 s', 'left_at', a.started_at + interval '30 s'))).*
    FROM report_phase p, generate_series(2, 1000) n
    JOIN report_attempt a ON a.number = n WHERE p.number = 1
"""


def test_each_of_a_thousand_retries_looks_at_its_own_suspension_alone(engine: Engine) -> None:
    story = (*seen(backoff_limit=1), *built(), *readied(), *failing())
    reported(engine, recorded(story), "retries")
    asked = "SELECT wait_seconds FROM report_v1.retries"
    with tampering(engine.url.render_as_string(hide_password=False)) as connection:
        connection.execute(MANY_RETRIES)
        connection.execute(MANY_STAYS)
        connection.execute("ANALYZE")
        plan = connection.execute(f"EXPLAIN (ANALYZE) {asked}").fetchall()
        waits = [wait for (wait,) in connection.execute(asked)]
    assert waits.count(40.0) == 998, "50 s until the next one, 10 s of them suspended"
    assert any("report_phase_queued" in line for (line,) in plan)
    assert not [line for (line,) in plan if "Rows Removed by Filter: " in line]


def test_a_run_that_succeeded_after_its_jobset_was_deleted_is_flaky(engine: Engine) -> None:
    def life() -> tuple[Step, ...]:
        end = completed_end(90)
        again = jobset(90, counts(succeeded=1), uid="jobset-2", end=end)
        return *running(), jobset_gone(50), applied(51, uid="jobset-2"), again

    with patch.dict(TRAIN_LIVES, {"again": life}):
        told = reported(engine, recorded_training("again"), "flaky")
    assert (told["runs"], told["flaky_runs"], told["failed_attempts"]) == (1, 1, 1)


def test_a_pause_that_a_deadline_ends_was_granted_and_is_no_retry_that_was_missing(
    engine: Engine,
) -> None:
    story = (*PAUSING, due(DecisionKind.JOB_DEADLINE))
    told = reported(engine, recorded(story), "retries")
    assert (told["retries"], told["not_retried"]) == (1, 0)
    asked = "SELECT attempt, lost_seconds, cluster_seconds FROM report_v1.failures ORDER BY number"
    with engine.connect() as connection:
        first, second = connection.execute(text(asked)).all()
    assert min(first.lost_seconds, first.cluster_seconds) > 0
    assert tuple(second) == (1, None, None), "what the attempt has cost is told once"
