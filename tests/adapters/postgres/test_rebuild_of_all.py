"""The rows of all jobs held against the log, and put right, by one process and by two."""

import pytest
from sqlalchemy import Engine

from jobledger.adapters.postgres.refolding import processes
from jobledger.adapters.postgres.refolding.all_jobs import rebuild_all
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


@pytest.fixture(params=[1, 2], ids=["one process", "two processes"])
def shares(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many processes; every job is worth one."""
    monkeypatch.setattr(processes, "PROCESS_JOBS", 1)
    monkeypatch.setattr(processes, "SHARE_JOBS", 1)
    return int(request.param)


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
    filled: Engine, ledger_url: str, shares: int, change: str
) -> None:
    with tampering(ledger_url) as superuser:
        done = superuser.execute(TAMPERINGS[change].encode())
        assert done.rowcount > 0
    named = _found(filled, shares, check=True)
    assert named
    assert _found(filled, shares, check=True) == named, "nothing was changed"
    assert _found(filled, shares, check=False) == named
    assert _found(filled, shares, check=True) == []


def test_a_row_too_many_is_named_and_removed(filled: Engine, ledger_url: str, shares: int) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute(
            b"CREATE TEMP TABLE more AS SELECT * FROM attempt ORDER BY stream_id, number LIMIT 1"
        )
        superuser.execute(b"UPDATE more SET number = 77")
        superuser.execute(b"INSERT INTO attempt SELECT * FROM more")
    (named,) = _found(filled, shares, check=True)
    assert (named.table, named.found, named.expected) == ("attempt", "present", "absent")
    assert _found(filled, shares, check=False) == [named]
    assert _found(filled, shares, check=True) == []


def test_progress_is_told_and_nothing_is_wrong_of_what_was_written(
    filled: Engine, shares: int
) -> None:
    told: list[tuple[int, int]] = []
    wrong = rebuild_all(filled, lambda *done: told.append(done), shares, check=True)
    assert list(wrong) == []
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("data = '{\"x\": 1}'", BrokenChain),
        ("schema_version = 99", UnknownEventType),
    ],
)
def test_a_job_that_cannot_be_read_ends_it_with_a_word(
    filled: Engine, ledger_url: str, shares: int, change: str, error: type[Exception]
) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute(f"UPDATE event SET {change} WHERE version = 1".encode())
    with pytest.raises(error):
        _found(filled, shares, check=True)
