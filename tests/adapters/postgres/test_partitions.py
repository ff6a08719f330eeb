"""Streams go to the partition of the month their job was made in."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from sqlalchemy import Engine
from structlog.testing import capture_logs

from jobledger.adapters.forensic_wiring import (
    analyze_quietly,
    make_partitions_quietly,
    sweep_quietly,
)
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.log.partitions import Partitions, created_at
from jobledger.adapters.postgres.log.snapshots import PostgresSnapshots
from jobledger.core.values.instants import Instant
from tests.support.ledgers import postgres_ledger
from tests.support.postgres import plain_url
from tests.support.records import NOON, StreamWriter, a_stream

pytestmark = pytest.mark.postgres


def partitions_with_rows(url: str) -> dict[str, int]:
    with psycopg.connect(plain_url(url)) as connection:
        return dict(
            connection.execute(
                "SELECT tableoid::regclass::text, count(*) FROM event GROUP BY 1 ORDER BY 1"
            ).fetchall()
        )


def partitions(url: str) -> list[str]:
    with psycopg.connect(plain_url(url)) as connection:
        rows = connection.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'event'::regclass"
        ).fetchall()
    return sorted(name for (name,) in rows)


def append_at(engine: Engine, *instants: Instant) -> None:
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    ledger.store.append(
        [StreamWriter(a_stream(f"job {n}", at)).next() for n, at in enumerate(instants)]
    )


def test_a_start_makes_last_month_to_the_month_after_next(engine: Engine, ledger_url: str) -> None:
    Partitions(engine).ensure_around(datetime(2026, 12, 31, 23, 59, tzinfo=UTC))
    assert partitions(ledger_url) == [
        "event_default",
        "event_y2026m11",
        "event_y2026m12",
        "event_y2027m01",
        "event_y2027m02",
    ]


def test_a_new_stream_finds_its_month(engine: Engine, ledger_url: str) -> None:
    last_instant = datetime(2026, 10, 31, 23, 59, 59, 999000, tzinfo=UTC)
    first_instant = datetime(2026, 11, 1, tzinfo=UTC)
    append_at(engine, last_instant, first_instant, NOON, datetime(2024, 2, 29, tzinfo=UTC))
    assert partitions_with_rows(ledger_url) == {
        "event_y2024m02": 1,
        "event_y2026m10": 1,
        "event_y2026m11": 2,
    }


def test_absurd_ages_go_to_the_default_partition(engine: Engine, ledger_url: str) -> None:
    append_at(
        engine,
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2600, 1, 1, tzinfo=UTC),
        NOON - timedelta(days=6 * 366),
    )
    assert partitions_with_rows(ledger_url) == {"event_default": 3}


def test_making_them_again_changes_nothing(engine: Engine, ledger_url: str) -> None:
    for _ in range(2):
        Partitions(engine).ensure_around(NOON)
    assert len(partitions(ledger_url)) == 5


def test_a_month_that_went_to_the_default_partition_stays_there(
    engine: Engine, ledger_url: str
) -> None:
    old = NOON - timedelta(days=6 * 366)
    append_at(engine, old)
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as connection:
        made = connection.execute("SELECT ensure_partitions_v1(%s, %s)", (old, old)).fetchall()
    assert made == []
    assert partitions_with_rows(ledger_url) == {"event_default": 1}


def test_a_stream_tells_when_its_job_was_made() -> None:
    at = NOON.replace(microsecond=123000)
    assert created_at(a_stream("x", at)) == at


def test_a_duty_without_a_ledger_is_a_line_in_the_log() -> None:
    """Raised, it would be a traceback of the scheduler."""
    away = open_engine("postgresql://nobody@127.0.0.1:9/none")
    with capture_logs() as lines:
        make_partitions_quietly(Partitions(away), lambda: NOON)
        analyze_quietly(away)
        sweep_quietly(PostgresSnapshots(away))
    assert [line["event"] for line in lines] == [
        "partitions_not_made",
        "not_analyzed",
        "snapshots_not_swept",
    ]
    assert all("cannot be reached" in line["error"] for line in lines)
