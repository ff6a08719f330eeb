"""Retention from the command line: shown first, archived, verified, brought back."""

import json
from pathlib import Path

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from tests.support import rayjob_stories as stories
from tests.support.ledgers import app_engine, postgres_ledger, tampering
from tests.support.processes import Terminal
from tests.support.rayjob_builders import manifest_gone
from tests.support.recorded import append_lives

pytestmark = pytest.mark.postgres

LONG_PAST = "2100-01-01"
"""An instant before which every job of a test was gone, whatever the clock says."""


@pytest.fixture
def filled(terminal: Terminal, ledger_url: str) -> Terminal:
    """A terminal at a ledger with two jobs that are over and gone, and one that is there."""
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        lives = {
            "done": lambda: (*stories.succeeded(), manifest_gone()),
            "failed": lambda: (*stories.working(), *stories.failing(), manifest_gone()),
            "there": stories.succeeded,
        }
        append_lives(ledger, lives.items())
    return terminal.with_environment(DATABASE_URL=ledger_url)


def test_jobs_are_shown_archived_verified_and_brought_back(
    filled: Terminal, tmp_path: Path
) -> None:
    asked = ("archive", "create", "--to", "archives", "--older-than", LONG_PAST)
    shown = filled.jobledger(*asked, "--dry-run").out
    assert "would go 2 jobs" in shown
    assert not (tmp_path / "archives").exists()
    made = json.loads(filled.jobledger(*asked, "--output", "json").out)[0]
    assert made["jobs"] == 2
    (file,) = (item["file"] for item in made["archives"])
    filled.jobledger("rebuild", "--check")
    asked_of_reports = ("rebuild", "--reports", "--check", "--archives", "archives")
    assert "equal the fold" in filled.jobledger(*asked_of_reports).out
    past = ("report", "durations", "--since", "2000-01-01", "--by", "job", "--output", "json")
    assert {row["job"] for row in json.loads(filled.jobledger(*past).out)["rows"]} == {
        f"ml/{name}" for name in ("done", "failed", "there")
    }
    assert f"{made['events']} events have left the log" in filled.jobledger("verify").out
    whole = filled.jobledger("verify", "--archives", "archives").out
    assert "1 file holds what its record says" in whole
    assert "as its record says" in filled.jobledger("archive", "verify", "--to", "archives").out
    assert file in filled.jobledger("archive", "list", "ml/done").out
    missing = filled.jobledger("archive", "list", "ml/there", code=ExitCode.NOT_FOUND)
    assert missing.err == "jobledger: no job ml/there is in an archive\n"

    for command in ("get", "history", "decisions"):
        told = filled.jobledger(command, "done", code=ExitCode.NOT_FOUND)
        assert f"jobledger import {file} --job ml/done" in told.err
    path = str(tmp_path / "archives" / file)
    (row,) = json.loads(filled.jobledger("archive", "list", "done", "--output", "json").out)
    by_stream = filled.jobledger("history", row["stream_id"], code=ExitCode.NOT_FOUND)
    assert f"jobledger import {file} --job ml/done" in by_stream.err
    assert "1 imported" in filled.jobledger("import", path, "--job", row["stream_id"]).out
    assert "Complete" in filled.jobledger("history", row["stream_id"]).out
    assert "Complete" in filled.jobledger("history", "done").out
    assert "1 imported, 1 was there already" in filled.jobledger("import", path).out
    filled.jobledger("replay", "failed")
    told = filled.jobledger("decisions", "failed", code=ExitCode.NOT_FOUND)
    assert "`jobledger history failed --all` tells all of them" in told.err


def test_what_was_taken_out_without_a_record_or_changed_in_a_file_is_named(
    filled: Terminal, ledger_url: str, tmp_path: Path
) -> None:
    filled.jobledger("archive", "create", "--to", "archives", "--older-than", LONG_PAST)
    (file,) = (tmp_path / "archives").glob("*.gz")
    file.write_bytes(file.read_bytes()[:-20])
    told = filled.jobledger("archive", "verify", "--to", "archives", code=ExitCode.FOUND_WRONG)
    assert "does not have the digest that its record names" in " ".join(told.out.split())
    with tampering(ledger_url) as superuser:
        superuser.execute("DELETE FROM event WHERE version = 3")
    told = filled.jobledger("verify", code=ExitCode.FOUND_WRONG)
    assert "version 4 follows version 2" in told.out
    assert "sealed event at position" in told.out


def test_the_services_user_may_not_archive(filled: Terminal, ledger_url: str) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute("CREATE ROLE plain_service LOGIN PASSWORD 'plain' IN ROLE jobledger_app")
    try:
        url = ledger_url.split("//", 1)[1].split("@", 1)[1]
        service = filled.with_environment(DATABASE_URL=f"postgresql://plain_service:plain@{url}")
        asked = ("archive", "create", "--to", "archives", "--older-than", LONG_PAST)
        told = service.jobledger(*asked, code=ExitCode.MISCONFIGURED)
        assert "this user may not do that" in told.err
    finally:
        with tampering(ledger_url) as superuser:
            superuser.execute("DROP OWNED BY plain_service")
            superuser.execute("DROP ROLE plain_service")


def test_the_status_of_the_database_tells_what_is_there_and_what_to_do(filled: Terminal) -> None:
    filled.jobledger("archive", "create", "--to", "archives", "--older-than", LONG_PAST)
    shown = filled.jobledger("db", "status").out
    for said in ("for each million events", "2 jobs with", "partitions: the partition event_y"):
        assert said in shown
    (told,) = json.loads(filled.jobledger("db", "status", "--output", "json").out)
    assert told["current"] == told["head"]
    assert (told["archives"], told["archived_jobs"], told["archived_still_here"]) == (1, 2, 0)
    assert told["oldest_open"] is None or told["oldest_open"]["name"] == "there"
    assert "partitions" in {warning["check"] for warning in told["warnings"]}
