"""Every job of a ledger decided again: the same answer, however many processes share the work."""

import pytest
from sqlalchemy import Engine

from jobledger.adapters.postgres.refolding import processes
from jobledger.adapters.postgres.refolding.replaying import replay_all
from jobledger.core.errors import BrokenChain, UnknownEventType
from tests.support.ledgers import postgres_ledger, tampering
from tests.support.lives import LIVES
from tests.support.recorded import append_lives

pytestmark = pytest.mark.postgres

SOME = ("failed", "succeeded", "not-valid")


@pytest.fixture
def filled(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """A ledger of a few jobs, of which every one is worth a process."""
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    append_lives(ledger, ((name, LIVES[name]) for name in SOME))
    monkeypatch.setattr(processes, "PROCESS_JOBS", 1)
    monkeypatch.setattr(processes, "SHARE_JOBS", 1)
    return engine


def test_processes_that_share_the_jobs_find_what_one_finds(filled: Engine) -> None:
    told: list[tuple[int, int]] = []
    shared = replay_all(filled, lambda done, total: told.append((done, total)), processes=2)
    found = dict(shared)
    assert list(found) == sorted(found)
    assert all(replayed.is_reproduced for replayed in found.values())
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert dict(replay_all(filled, lambda *_: None)) == found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("data = '{\"x\": 1}'", "run `jobledger verify`"),
        ("schema_version = 99", "was written by a newer jobledger"),
    ],
)
def test_a_job_that_cannot_be_read_is_told(
    filled: Engine, ledger_url: str, change: str, said: str
) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute(f"UPDATE event SET {change} WHERE version = 1")
    with pytest.raises((BrokenChain, UnknownEventType), match=said):
        dict(replay_all(filled, lambda *_: None))
