"""The rows of all jobs held against the log, and put right, by one process and by two."""

import pytest
from sqlalchemy import Engine

from bench.population.life import RULES
from jobledger.adapters.postgres.refolding import processes
from jobledger.adapters.postgres.refolding.all_jobs import rebuild_all
from jobledger.adapters.postgres.reports.projecting.projector import catch_up
from jobledger.core.errors import BrokenChain, UnknownEventType
from jobledger.core.projections.differences import Difference
from tests.support.ledgers import postgres_ledger, tampering
from tests.support.lives import LIVES
from tests.support.recorded import append_lives

pytestmark = pytest.mark.postgres

SOME = ("failed", "succeeded", "not-valid")

LAST = "WHERE stream_id = (SELECT max(stream_id::text)::uuid FROM {})"
TAMPERINGS = {
    "a column of a job": "UPDATE job SET version = 77 " + LAST.format("job"),
    "an attempt too few": "DELETE FROM attempt " + LAST.format("attempt"),
    "a decision too few": "DELETE FROM decision " + LAST.format("decision"),
    "an effect of another kind": "UPDATE effect SET kind = 'other' " + LAST.format("effect"),
}


@pytest.fixture(autouse=True)
def _every_job_is_worth_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PROCESS_JOBS", 1)
    monkeypatch.setattr(processes, "SHARE_JOBS", 1)


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """A ledger of a few jobs."""
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    append_lives(ledger, ((name, LIVES[name]) for name in SOME))
    return engine


def _found(engine: Engine, shares: int, *, check: bool) -> list[Difference]:
    return list(rebuild_all(engine, lambda *_: None, shares, check=check))


@pytest.mark.parametrize("change", TAMPERINGS)
def test_what_is_not_the_fold_of_the_log_is_named_and_put_right(
    filled: Engine, ledger_url: str, change: str
) -> None:
    _tamper(ledger_url, TAMPERINGS[change])
    named = _found(filled, 1, check=True)
    assert named
    assert _found(filled, 1, check=True) == named, "nothing was changed"
    assert _found(filled, 1, check=False) == named
    assert _found(filled, 1, check=True) == []


def _tamper(ledger_url: str, *statements: str) -> None:
    with tampering(ledger_url) as superuser:
        for statement in statements:
            assert superuser.execute(statement.encode()).rowcount > 0


ONE_MORE = (
    "CREATE TEMP TABLE more AS SELECT * FROM attempt ORDER BY stream_id, number LIMIT 1",
    "UPDATE more SET number = 77",
    "INSERT INTO attempt SELECT * FROM more",
)


def test_a_row_too_many_is_named_and_removed(filled: Engine, ledger_url: str) -> None:
    _tamper(ledger_url, *ONE_MORE)
    (named,) = _found(filled, 1, check=True)
    assert (named.table, named.found, named.expected) == ("attempt", "present", "absent")
    assert _found(filled, 1, check=False) == [named]
    assert _found(filled, 1, check=True) == []


def test_two_processes_name_and_put_right_what_one_does(filled: Engine, ledger_url: str) -> None:
    """Each process is an interpreter that imports everything: all is wrong at once."""
    _tamper(ledger_url, *TAMPERINGS.values(), *ONE_MORE)
    named = _found(filled, 1, check=True)
    assert {one.table for one in named} >= {"job", "attempt", "decision", "effect"}
    assert _found(filled, 2, check=True) == named
    assert _found(filled, 2, check=False) == named
    assert _found(filled, 1, check=True) == []


@pytest.mark.parametrize("shares", [1, 2])
def test_progress_is_told_and_nothing_is_wrong_of_what_was_written(
    filled: Engine, shares: int
) -> None:
    told: list[tuple[int, int]] = []
    wrong = rebuild_all(filled, lambda *done: told.append(done), shares, check=True)
    assert list(wrong) == []
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("shares", "change", "error"),
    [
        (1, "data = '{\"x\": 1}'", BrokenChain),
        (2, "data = '{\"x\": 1}'", BrokenChain),
        (1, "schema_version = 99", UnknownEventType),
    ],
)
def test_a_job_that_cannot_be_read_ends_it_with_a_word(
    filled: Engine, ledger_url: str, shares: int, change: str, error: type[Exception]
) -> None:
    _tamper(ledger_url, f"UPDATE event SET {change} WHERE version = 1")
    with pytest.raises(error):
        _found(filled, shares, check=True)


@pytest.mark.parametrize("first", ["failed", "not-valid"])
def test_a_stream_whose_first_event_is_gone_ends_it_with_a_word(
    filled: Engine, ledger_url: str, first: str
) -> None:
    of_it = f"(SELECT stream_id FROM job WHERE name = '{first}')"
    _tamper(ledger_url, f"DELETE FROM event WHERE version = 1 AND stream_id = {of_it}")
    for check in (True, False):
        with pytest.raises(BrokenChain, match="does not begin with who the job is"):
            _found(filled, 1, check=check)
    catch_up(filled, RULES)
    with filled.connect() as connection:
        told = connection.exec_driver_sql("SELECT name FROM report_job").scalars().all()
    assert set(told) == set(SOME) - {first}, "reports go on without it"


NO_INSTANT = ["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'10000-01-01'"]


@pytest.mark.parametrize("value", NO_INSTANT)
def test_a_row_that_cannot_be_read_for_its_instant_is_named_and_put_right(
    filled: Engine, ledger_url: str, value: str
) -> None:
    _tamper(
        ledger_url,
        f"UPDATE job SET ended_at = {value} WHERE name = 'failed'",
        f"UPDATE attempt SET started_at = {value} " + LAST.format("attempt"),
        "UPDATE job SET version = 77 WHERE name = 'succeeded'",
    )
    named = _found(filled, 1, check=True)
    assert [(one.table, one.column) for one in named] == [
        ("job", "ended_at"),
        ("attempt", "started_at"),
        ("job", "version"),
    ]
    assert named[0].expected == "an instant between the years 1 and 9999"
    assert _found(filled, 1, check=False) == named
    assert _found(filled, 1, check=True) == []


def test_a_row_without_a_job_that_cannot_be_read_is_named(filled: Engine, ledger_url: str) -> None:
    copied = "CREATE TEMP TABLE more AS SELECT * FROM attempt LIMIT 1"
    other = "UPDATE more SET stream_id = gen_random_uuid(), started_at = 'infinity'"
    _tamper(ledger_url, copied, other, "INSERT INTO attempt SELECT * FROM more")
    for check in (True, False):
        assert [one.found for one in _found(filled, 1, check=check)] == ["infinity"]
