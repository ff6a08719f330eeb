"""How far a TrainJob is, in the commands: by its last report, and whether it still reports."""

import json
from typing import Any

import pytest

from tests.contracts.history import append_history
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.processes import Terminal
from tests.support.trainjobs import after, completed, play, progress, running

pytestmark = pytest.mark.postgres


@pytest.fixture
def at_ledger(terminal: Terminal, ledger_url: str) -> Terminal:
    return terminal.with_environment(DATABASE_URL=ledger_url)


def append(url: str, *story: Any) -> None:  # noqa: ANN401 steps of any kind
    with app_engine(url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        append_history(ledger, play(story).history)


def test_a_job_that_has_stopped_reporting_is_seen_in_every_command(
    at_ledger: Terminal, ledger_url: str
) -> None:
    append(ledger_url, *running(), progress(30, 24))
    shown = at_ledger.jobledger("get").out
    assert "PROGRESS" in shown.splitlines()[0]
    assert "24 %, silent" in shown
    (row,) = json.loads(at_ledger.jobledger("get", "-o", "json").out)
    told = row["progress"]
    assert told.pop("age_seconds") > 300
    assert told == {
        "percentage": 24,
        "estimated_end": None,
        "metrics": [],
        "reported_at": after(30).isoformat().replace("+00:00", "Z"),
        "silent": True,
    }
    for command in ("history", "explain"):
        assert "training: 24 %; silent: no report for" in at_ledger.jobledger(command, "train").out


def test_a_job_that_is_done_is_not_called_silent(at_ledger: Terminal, ledger_url: str) -> None:
    append(ledger_url, *running(), progress(30, 24), *completed()[len(running()) :])
    assert at_ledger.jobledger("get").out.splitlines()[1].rstrip().endswith("24 %")
    for command in ("history", "explain"):
        assert "silent" not in at_ledger.jobledger(command, "train").out


def test_without_a_report_nothing_is_shown(at_ledger: Terminal, ledger_url: str) -> None:
    append(ledger_url, *running())
    assert "PROGRESS" not in at_ledger.jobledger("get").out
    (row,) = json.loads(at_ledger.jobledger("get", "-o", "json").out)
    assert row["progress"] is None
    assert "training:" not in at_ledger.jobledger("history", "train").out
