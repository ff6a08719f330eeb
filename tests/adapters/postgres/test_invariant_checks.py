"""What `jobledger doctor` asks of the ledger: silent on a sound one, and each check fails once."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from jobledger.adapters.postgres.checks.invariants import CHECKS, RAY_HEADS, WHOLE
from jobledger.adapters.postgres.checks.log_clock import LOG_CLOCK
from jobledger.adapters.postgres.checks.over_jobs import over_jobs
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.core.forensics.findings import Finding, Severity, worst
from jobledger.core.values.ids import SHARDS
from tests.support import rayjob_stories as stories
from tests.support.ledgers import postgres_ledger, tampering
from tests.support.rayjob_builders import manifest_gone
from tests.support.recorded import append_lives

pytestmark = pytest.mark.postgres

LONG = timedelta(days=3650)
"""A lease that lasts, and an instant that is not reached."""


@pytest.fixture
def engine(ledger_url: str) -> Iterator[Engine]:
    """A ledger with a job that works, one that is over, one that is gone, and a held lease."""
    made = open_engine(ledger_url)
    ledger = postgres_ledger(made)
    ledger.leases.acquire(ledger.writer, LONG, SHARDS)
    lives = {
        "busy": stories.working,
        "over": stories.succeeded,
        "failed": lambda: stories.failed_attempts(1, backoff_limit=2),
        "gone": lambda: (*stories.succeeded(), manifest_gone()),
    }
    append_lives(ledger, lives.items())
    with tampering(ledger_url) as superuser:  # as if all of it were of this minute
        superuser.execute("UPDATE job SET last_event_at = now()")
        superuser.execute("UPDATE event SET recorded_at = now()")
        superuser.execute("UPDATE decision SET due_at = now() + interval '1 hour'")
        superuser.execute("UPDATE effect SET requested_at = now()")
    yield made
    made.dispose()


def findings(engine: Engine) -> list[Finding]:
    return [
        finding
        for check in (RAY_HEADS, LOG_CLOCK, *CHECKS, *WHOLE)
        for finding in check.run(engine)
    ]


def test_a_sound_ledger_gives_no_finding(engine: Engine) -> None:
    assert findings(engine) == []


OF_OVER = "(SELECT stream_id FROM job WHERE name = 'over')"
OF_BUSY = "(SELECT stream_id FROM job WHERE name = 'busy')"
DECISION = (
    "INSERT INTO decision SELECT gen_random_uuid(), stream_id, shard, 1, '{kind}', 'pending', "
    "now() + interval '{due}', now(), NULL, '', '' FROM job WHERE name = '{job}'"
)
EFFECT = (
    "INSERT INTO effect SELECT gen_random_uuid(), stream_id, shard, 1, '{kind}', 'x', "
    "'requested', now() - interval '{age}', NULL, 'quota' FROM job WHERE name = '{job}'"
)

RETRIED = (
    f"UPDATE attempt SET retried = true, reason = 'DeadlineExceeded' WHERE stream_id = {OF_BUSY}"
)
ABOVE = (
    "UPDATE event SET data = jsonb_set(data::jsonb, '{failed}', '9') WHERE type = 'RetryGranted'"
)
LATEST_AHEAD = (
    "UPDATE event SET recorded_at = now() + interval '10 min' "
    "WHERE position = (SELECT max(position) FROM event)"
)
ENDED_AGAIN = (
    "INSERT INTO event SELECT 9999, stream_id, 9999, gen_random_uuid(), 'DecisionCancelled', "
    "schema_version, occurred_at, recorded_at, actor, epoch, causation_id, correlation_id, data, "
    "data_sha, chain FROM event WHERE type IN ('DecisionFired', 'DecisionCancelled') LIMIT 1"
)


@pytest.mark.parametrize(
    ("check", "severity", "change"),
    [
        (
            "overdue-decisions",
            Severity.WARNING,
            DECISION.format(kind="retry", due="-5 min", job="busy"),
        ),
        (
            "finals-final",
            Severity.ERROR,
            f"UPDATE attempt SET started_at = now(), ended_at = NULL WHERE stream_id = {OF_OVER}",
        ),
        (
            "finals-final",
            Severity.ERROR,
            "UPDATE job SET open = true WHERE name = 'over'; "
            + DECISION.format(kind="retry", due="1 h", job="over"),
        ),
        (
            "finals-final",
            Severity.ERROR,
            "UPDATE job SET open = true WHERE name = 'over'; "
            + EFFECT.format(kind="create_cluster", age="1 s", job="over"),
        ),
        (
            "closed-jobs",
            Severity.ERROR,
            DECISION.format(kind="ttl_shutdown", due="1 h", job="gone"),
        ),
        (
            "slow-effects",
            Severity.WARNING,
            EFFECT.format(kind="create_cluster", age="1 h", job="busy"),
        ),
        (
            "never-retried",
            Severity.ERROR,
            RETRIED,
        ),
        (
            "silent-jobs",
            Severity.WARNING,
            "UPDATE job SET last_event_at = now() - interval '2 hours' WHERE name = 'busy'",
        ),
        (
            "ray-heads",
            Severity.WARNING,
            DECISION.format(kind="status_check", due="5 min", job="busy"),
        ),
        (
            "ray-heads",
            Severity.WARNING,
            EFFECT.format(kind="submit_entrypoint", age="1 s", job="busy"),
        ),
        ("leases", Severity.ERROR, "UPDATE shard_lease SET until = now() - interval '1 min'"),
        (
            "decisions-end-once",
            Severity.ERROR,
            ENDED_AGAIN,
        ),
        ("retries-in-limit", Severity.ERROR, ABOVE),
        (
            "log-clock",
            Severity.WARNING,
            LATEST_AHEAD,
        ),
        (
            "log-clock",
            Severity.NOTE,
            "UPDATE event SET recorded_at = recorded_at - interval '10 min' WHERE position = 7",
        ),
    ],
)
def test_what_breaks_a_rule_is_named_with_what_to_do(
    engine: Engine, ledger_url: str, check: str, severity: Severity, change: str
) -> None:
    with tampering(ledger_url) as superuser:
        for statement in change.split("; "):
            assert superuser.execute(statement).rowcount > 0, "the test changed nothing"
    found = findings(engine)
    assert {item.check for item in found} == {check}
    assert worst(found) is severity
    assert all(item.what and item.remedy for item in found)


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        pytest.param('{"failed": "x"}', True, id="no number"),
        pytest.param("[5]", True, id="no object"),
        pytest.param(r'{"failed": 9, "end": "\u0000"}', False, id="a NUL: not known"),
        pytest.param(r'{"end": "\uD800"}', False, id="a lone surrogate: not known"),
        pytest.param(r'{"end": "\\\ud800"}', False, id="one after a backslash: not known"),
        pytest.param(r'{"inferred": true, "end": "\ud83d\ude00"}', False, id="a whole one"),
        pytest.param(r'{"inferred": true, "end": "{\"a\": \"\\ud83d\"}"}', False, id="JSON quoted"),
        pytest.param(r'{"inferred": true, "end": "D:\\udata\\u0000"}', False, id="a path"),
        pytest.param(
            r'{"end": "D:\\udata\\u0000 \ud83d\ude00"}', True, id="read, and not inferred"
        ),
    ],
)
def test_whatever_payload_an_event_was_given_no_check_ends(
    engine: Engine, ledger_url: str, payload: str, named: bool
) -> None:
    """What cannot be read may have been inferred; `verify` names it."""
    with tampering(ledger_url) as superuser:
        superuser.execute(RETRIED.encode())
        superuser.execute("UPDATE event SET data = %s", (payload,))
    assert {item.check for item in findings(engine)} == ({"never-retried"} if named else set())


def test_of_many_the_first_are_named_and_the_rest_counted(engine: Engine, ledger_url: str) -> None:
    with tampering(ledger_url) as superuser:
        for _ in range(7):
            superuser.execute(DECISION.format(kind="retry", due="-5 min", job="busy"))
    (found,) = findings(engine)
    assert found.what.count("ml/busy") == 5
    assert "and 2 more" in found.what


def test_a_job_that_is_over_and_had_its_cluster_deleted_is_told_by_its_uid(
    engine: Engine, ledger_url: str
) -> None:
    assert over_jobs(engine, "kind") == {}, "its RayCluster was never to go"
    with tampering(ledger_url) as superuser:
        superuser.execute(EFFECT.format(kind="delete_cluster", age="1 h", job="over"))
        superuser.execute("UPDATE effect SET state = 'succeeded' WHERE kind = 'delete_cluster'")
    assert set(over_jobs(engine, "kind").values()) == {"RayJob ml/over"}
    assert over_jobs(engine, "another cluster") == {}


def test_a_job_that_begins_and_ends_within_one_second_of_the_cluster_is_no_finding(
    engine: Engine, ledger_url: str
) -> None:
    """What a cluster says of an end has whole seconds, what was seen to begin has not."""
    with tampering(ledger_url) as superuser:
        superuser.execute(
            "UPDATE job SET ended_at = date_trunc('second', ended_at) WHERE name = 'over'"
        )
        superuser.execute(
            "UPDATE attempt a SET started_at = date_trunc('second', j.ended_at) + interval '0.7 s'"
            " FROM job j WHERE j.stream_id = a.stream_id AND j.name = 'over'"
        )
    assert findings(engine) == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("UPDATE attempt SET started_at = now() WHERE {its}", id="ended before"),
        pytest.param(
            "UPDATE attempt SET started_at = now(), ended_at = now() WHERE {its}; "
            "INSERT INTO attempt SELECT (b).* FROM (SELECT jsonb_populate_record(a, "
            "jsonb_build_object('number', 2, 'started_at', j.ended_at, 'ended_at', j.ended_at))"
            " AS b FROM attempt a JOIN job j USING (stream_id) WHERE {its}) AS later",
            id="followed by another",
        ),
    ],
)
def test_what_replicas_with_clocks_of_their_own_told_is_no_bug(
    engine: Engine, ledger_url: str, change: str
) -> None:
    """One whose clock was five minutes ahead told of the beginning, another of the end."""
    with tampering(ledger_url) as superuser:
        for statement in change.format(its=f"stream_id = {OF_OVER}").split("; "):
            assert superuser.execute(statement).rowcount > 0, "the test changed nothing"
    assert findings(engine) == []


def test_what_a_controller_whose_clock_was_ahead_told_is_no_bug(
    engine: Engine, ledger_url: str
) -> None:
    """The cluster dated the end ten minutes earlier; by the log it came after the beginning."""
    with tampering(ledger_url) as superuser:
        for statement in (
            f"UPDATE job SET ended_at = ended_at - interval '10 min' WHERE stream_id = {OF_OVER}",
            f"UPDATE attempt SET ended_at = NULL WHERE stream_id = {OF_OVER}",
        ):
            assert superuser.execute(statement).rowcount > 0, "the test changed nothing"
    assert findings(engine) == []
