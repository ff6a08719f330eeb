"""What is told of a job says so where a standby is asked that lags: it may be out of date."""

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

from jobledger.adapters.cli.main import app
from jobledger.adapters.postgres.connection import standby
from tests.support.ledgers import postgres_ledger
from tests.support.lives import LIVES
from tests.support.recorded import append_lives
from tests.support.records import NOON

pytestmark = pytest.mark.postgres

COMMANDS = (
    ("history", "train"),
    ("history", "train", "--table"),
    ("explain", "train"),
    ("decisions",),
    ("decisions", "train"),
    ("trace", "train"),
    ("what-if", "train", "--backoff-limit", "3"),
    ("export", "train"),
    ("explain", "train", "--compare", "other"),
    ("replay",),
    ("replay", "train"),
    ("what-if", "--backoff-limit", "3"),
    ("evidence", "train"),
    ("get",),
    ("get", "--output", "json"),
)
TOLD = "a standby"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_says_how_old_its_answer_is(
    command: tuple[str, ...], engine: Engine, ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    append_lives(ledger, [(name, LIVES["succeeded"]) for name in ("train", "other")])
    environment = {"DATABASE_URL": ledger_url, "COLUMNS": "120"}
    ended = CliRunner().invoke(app, command, env=environment)
    assert ended.exit_code == 0, ended.output
    assert TOLD not in ended.stderr
    monkeypatch.setattr(standby, "stale_since", lambda _: NOON)
    ended = CliRunner().invoke(app, command, env=environment)
    assert ended.stderr.count(TOLD) == 1
    assert "nothing newer than 2026-11-21T12:00:00Z" in ended.stderr
