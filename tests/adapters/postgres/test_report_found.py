"""What reports say of jobs that were found with a status: unknown is neither good nor late."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Question, Row
from jobledger.core.rayjob.observations.observations import SeenStatus
from tests.rules.rayjob.test_recording import WHY, shown
from tests.support.ledgers import postgres_ledger
from tests.support.rayjob_builders import (
    ADDRESS,
    after,
    cluster,
    cluster_of,
    manifest,
    submission_of,
)
from tests.support.rayjob_stories import Story
from tests.support.recorded import append_records, job_called, recorded
from tests.support.records import NOON
from tests.support.reported import differences, project_all

pytestmark = pytest.mark.postgres

TWO_DAYS = 2 * 86_400
FAILED = {"job_status": "FAILED", "reason": "AppFailed", "message": "exit 1", "failed": 1}


def found(phase: str, **said: Any) -> Story:  # noqa: ANN401 fields by name
    """Return a job that began a second after its creation and was found two days later."""
    names = {"cluster_name": cluster_of(1), "job_id": submission_of(1), "address": ADDRESS}
    fields = {**names, "started_at": after(1 - TWO_DAYS), **said}
    return (manifest(60, recorded=WHY, backoff_limit=3, status=SeenStatus(phase=phase, **fields)),)


def stories() -> dict[str, Story]:
    """Return the jobs by name; call it where the builders speak of the job."""
    again = (shown("Initializing", 310, 2, failed=1), shown("Running", 320, 2, failed=1))
    return {
        "running": (*found("Running", job_status="RUNNING"), cluster("ready", 310)),
        "complete": found("Complete", job_status="SUCCEEDED", ended_at=after(20)),
        "failed": found("Failed", ended_at=after(20), **FAILED),
        "retrying": (*found("Retrying", **FAILED), *again),
        "waiting": found("Initializing"),
        "suspended": found("Suspended", cluster_name="", job_id="", address=""),
    }


@pytest.fixture
def reported(engine: Engine) -> Engine:
    """A ledger of jobs that were found, and of one that was found running in time."""
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    for name in stories():
        with job_called(name, age_days=2):
            append_records(ledger, recorded(stories()[name]))
    with job_called("in-time"):
        told = manifest(60, recorded=WHY, status=shown("Running", 60, job_status="RUNNING").status)
        append_records(ledger, recorded((told,)))
    project_all(engine)
    assert differences(engine) == []
    return engine


def total(engine: Engine, name: str) -> Row:
    report = REPORTS[name]
    thresholds = {item.name: item.default for item in report.thresholds}
    since, until = NOON - timedelta(days=5), NOON + timedelta(days=1)
    told = ask(engine, report, Question(since=since, until=until, thresholds=thresholds)).total
    assert told is not None
    return told


def test_a_job_whose_start_nobody_saw_is_not_judged(reported: Engine) -> None:
    told = total(reported, "slo")
    counted = ("jobs", "judged", "late", "unknown", "open")
    assert [told[name] for name in counted] == [7, 1, 1, 5, 1], "late is what has not run yet"


def test_what_nobody_saw_begin_has_no_latency(reported: Engine) -> None:
    told = total(reported, "start-latency")
    assert (told["attempts"], told["ran"]) == (8, 1)
    assert told["p99_seconds"] == 320 - 60, "of the attempt after the one that was found"


def test_failures_and_waste_agree_about_what_was_found(reported: Engine) -> None:
    failures, waste, retries = (total(reported, one) for one in ("failures", "waste", "retries"))
    assert failures["failures"] == waste["failed_attempts"] == 2
    assert (failures["never_ran"], failures["retried"], failures["final"]) == (0, 1, 1)
    assert retries["retries"] == 1
