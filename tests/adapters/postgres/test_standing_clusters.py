"""How long clusters stand, against plain SQL over the log itself."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from docs.cookbook.page import answered
from docs.cookbook.recipes import RECIPES
from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Question, Row
from jobledger.core.values.instants import Instant
from tests.support import rayjob_stories as stories
from tests.support.ledgers import postgres_ledger, tampering
from tests.support.rayjob_builders import (
    HTTP,
    after,
    cluster,
    cluster_gone,
    manifest_gone,
    poll,
    submitter,
)
from tests.support.rayjob_stories import SELECTED, Story
from tests.support.recorded import append_lives
from tests.support.reported import differences, project_all

pytestmark = pytest.mark.postgres

HOUR = timedelta(hours=1)
OF_THE_LOG = text("""
WITH begun AS (
  SELECT stream_id, data ->> 'attempt' AS attempt, data ->> 'cluster_name' AS name
    FROM event WHERE type = 'AttemptStarted'
), cluster AS (
  SELECT b.stream_id,
         (SELECT min(e.occurred_at) FROM event e WHERE e.stream_id = b.stream_id
             AND (e.type = 'ClusterObserved' OR e.data ->> 'kind' = 'create_cluster')
             AND e.type <> 'EffectRequested' AND e.data ->> 'name' = b.name) AS made_at,
         coalesce(
           (SELECT max(e.occurred_at) FROM event e WHERE e.stream_id = b.stream_id
               AND e.type = 'ClusterVanished' AND e.data ->> 'name' = b.name),
           (SELECT max(e.occurred_at) FROM event e WHERE e.stream_id = b.stream_id
               AND e.type = 'JobDeleted'),
           CAST(:until AS timestamptz)) AS gone_at
    FROM begun b
)
SELECT j.name, sum(date_part('epoch', c.gone_at - c.made_at)) AS seconds
  FROM cluster c JOIN job j USING (stream_id) GROUP BY j.name
""")


@pytest.fixture
def reported(engine: Engine) -> Engine:
    """A ledger whose RayClusters stand, went, or never were."""
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    append_lives(
        ledger,
        {
            "at-work": stories.working,
            "idle": stories.succeeded,
            "cleared": lambda: (*stories.succeeded(), cluster_gone(90)),
            "deleted": lambda: (*stories.working(), manifest_gone(70)),
            "retried": lambda: (*stories.failed_attempts(1, backoff_limit=1), *stories.built(2)),
        }.items(),
    )
    project_all(engine)
    assert differences(engine) == []
    return engine


def failed_for_good() -> Story:
    """Return a job whose only attempt has failed; nothing takes its RayCluster away."""
    ended = poll("FAILED", 40, started_at=25, ended_at=39)
    return *stories.working(), ended, submitter("Failed", 41)


def asked(engine: Engine, name: str, until: Instant, *by: str) -> dict[str, Row]:
    """Return a report's rows by job."""
    report = REPORTS[name]
    thresholds = {item.name: item.default for item in report.thresholds}
    question = Question(
        since=until - 48 * HOUR, until=until, by=by, limit=100, thresholds=thresholds
    )
    return {str(row["job"]).split("/")[-1]: row for row in ask(engine, report, question).rows}


def number(row: Row, name: str) -> float:
    """Return a number of an answer."""
    value = row[name]
    assert isinstance(value, int | float)
    return value


@pytest.mark.parametrize("until", [after(0) + HOUR, after(0) + 5 * HOUR])
def test_busiest_counts_what_stands_until_the_end_and_what_went_until_then(
    reported: Engine, until: Instant
) -> None:
    with reported.connect() as connection:
        rows = connection.execute(OF_THE_LOG, {"until": until}).all()
    told = asked(reported, "busiest", until, "job")
    found = {name: number(row, "cluster_seconds") for name, row in told.items()}
    assert found == pytest.approx({name: float(seconds) for name, seconds in rows})
    assert max(found.values()) > (until - after(60)).total_seconds(), "something stands"


def test_waste_counts_a_cluster_of_a_failed_job_that_stands(engine: Engine) -> None:
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    append_lives(ledger, {"failed": failed_for_good}.items())
    project_all(engine)
    until = after(0) + HOUR
    report = REPORTS["waste"]
    question = Question(since=until - 48 * HOUR, until=until, by=("class",), limit=10)
    (row,) = ask(engine, report, question).rows
    with engine.connect() as connection:
        ((_, seconds),) = connection.execute(OF_THE_LOG, {"until": until}).all()
    assert row["wasted_seconds"] == pytest.approx(float(seconds))


def test_the_cookbook_calls_what_stands_after_a_failure_wasted_too(engine: Engine) -> None:
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    append_lives(ledger, {"failed": failed_for_good, "good": stories.succeeded}.items())
    project_all(engine)
    (recipe,) = (one for one in RECIPES if "the most expensive" in one.question)
    names, *rows = answered(engine, recipe, after(0) + 10 * HOUR)
    held, wasted = names.index("cluster_hours"), names.index("of_it_wasted")
    told = {row[names.index("name")]: (row[held], row[wasted]) for row in rows}
    assert told == {"failed": ("10.0", "10.0"), "good": ("10.0", "0.0")}


def test_what_stands_after_the_end_of_its_job_is_idle(reported: Engine) -> None:
    until = after(0) + HOUR
    told = asked(reported, "idle", until)
    ended = text("SELECT ended_at FROM job WHERE name = 'idle'")
    with reported.connect() as connection:
        at = connection.execute(ended).scalar_one()
    assert set(told) == {"idle"}
    assert told["idle"]["idle_since_at"] == at
    assert told["idle"]["idle_seconds"] == pytest.approx((until - at).total_seconds())
    assert asked(reported, "idle", at) == {}, "it was not idle before"


def test_a_selected_raycluster_that_never_came_to_be_holds_nothing(engine: Engine) -> None:
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    append_lives(
        ledger,
        {
            "waits": stories.selecting,
            "runs": lambda: (
                *stories.selecting(submission_mode=HTTP),
                cluster("ready", 10, name=SELECTED, uid="theirs", owned=False),
            ),
        }.items(),
    )
    project_all(engine)
    told = asked(engine, "busiest", after(0) + HOUR, "job")
    assert told["waits"]["cluster_seconds"] == 0.0
    assert number(told["runs"], "cluster_seconds") > 0


@pytest.mark.usefixtures("reported")
def test_a_retry_after_which_attempts_were_missed_has_the_next_that_was_seen(
    ledger_url: str,
) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute("UPDATE report_attempt SET number = 4 WHERE number = 2")
        found = superuser.execute(
            "SELECT r.attempt, r.next_started_at = a.started_at FROM report_v1.retries r"
            " JOIN report_v1.attempts a ON a.stream_id = r.stream_id AND a.attempt = 4"
        ).fetchall()
    assert found == [(1, True)]
