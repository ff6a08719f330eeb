"""`jobledger backup check`, as somebody types it."""

import json
from pathlib import Path

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.core.forensics.backups.checks import CHECKS
from tests.support.processes import Terminal

pytestmark = pytest.mark.postgres


def test_it_says_what_stands_against_a_restore_and_what_to_do(
    terminal: Terminal, ledger_url: str
) -> None:
    here = terminal.with_environment(DATABASE_URL=ledger_url)
    told = here.jobledger("backup", "check", code=int(ExitCode.FOUND_WRONG)).out
    assert "archive_mode is off, and nobody receives the WAL" in told
    assert "-> set archive_mode and archive_command" in told
    rows = json.loads(here.jobledger("backup", "check", "-o", "json", code=1).out)
    assert [row["check"] for row in rows] == [check.name for check in CHECKS]
    states = {row["check"]: row["state"] for row in rows}
    assert (states["archiving"], states["base-backup"]) == ("error", "warning")


def test_a_directory_that_is_no_backup_is_named(
    terminal: Terminal, ledger_url: str, tmp_path: Path
) -> None:
    here = terminal.with_environment(DATABASE_URL=ledger_url)
    words = ("backup", "check", "--base-backup", str(tmp_path))
    told = here.jobledger(*words, code=int(ExitCode.MISCONFIGURED))
    assert f"{tmp_path} is no base backup in the plain format" in told.everything.replace("\n", " ")
