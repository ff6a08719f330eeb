"""`jobledger get`: jobs that were deleted, that followed each other, and that were imported."""

import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from jobledger.adapters.cli.exit_codes import ExitCode
from tests.adapters.cli.test_pending_of_a_namespace import OTHERS, fill
from tests.support import rayjob_builders
from tests.support import rayjob_stories as stories
from tests.support.ledgers import app_engine, postgres_ledger, tampering
from tests.support.processes import Terminal
from tests.support.rayjob_builders import manifest_gone
from tests.support.recorded import append_records, job_called, recorded
from tests.support.rows import Step

pytestmark = pytest.mark.postgres

BUNDLE = Path(__file__).parents[1] / "frozen" / "streams" / "silent-for-a-while.bundle"


@pytest.fixture
def filled(terminal: Terminal, ledger_url: str) -> Terminal:
    """A ledger in which the job `ft` was deleted as it ran, and made again, and succeeded."""
    lives: dict[str, Callable[[], tuple[Step, ...]]] = {
        "first": lambda: (*stories.working(), manifest_gone()),
        "second": stories.succeeded,
    }
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        for mark, story in lives.items():
            with job_called(mark):
                same_name = replace(rayjob_builders.IDENTITY, name="ft")
                with patch.multiple(rayjob_builders, JOB="ft", IDENTITY=same_name):
                    append_records(ledger, recorded(story()))
    return terminal.with_environment(DATABASE_URL=ledger_url)


def test_all_runs_of_a_name_are_listed(filled: Terminal) -> None:
    rows = json.loads(filled.jobledger("get", "ft", "-o", "json").out)
    assert {(row["uid"], row["phase"]) for row in rows} == {
        ("uid-of-first", "Running"),
        ("uid-of-second", "Complete"),
    }


def test_runs_of_a_name_are_narrowed_as_all_jobs_are(filled: Terminal) -> None:
    for narrowed, uids in (
        (("--phase", "complete"), {"uid-of-second"}),
        (("--phase", "Failed"), set()),
        (("--limit", "1"), {"uid-of-second"}),
        (("--kept",), set()),
    ):
        told = filled.jobledger("get", "ft", *narrowed, "-o", "json")
        assert {row["uid"] for row in json.loads(told.out)} == uids
        assert ("no job is like that" in told.err) == (not uids)
        assert ("more than 1 like that" in told.err) == ("--limit" in narrowed)


def test_it_is_said_that_more_jobs_are_like_that(filled: Terminal) -> None:
    assert "there are more than 1 like that" in filled.jobledger("get", "--limit", "1").err
    assert "like that" not in filled.jobledger("get", "--limit", "2").err


def test_jobs_in_no_phase_are_listed_as_the_page_lists_them(
    filled: Terminal, ledger_url: str
) -> None:
    assert json.loads(filled.jobledger("get", "--phase", "New", "-o", "json").out) == []
    with tampering(ledger_url) as superuser:
        superuser.execute("UPDATE job SET phase = '' WHERE uid = 'uid-of-first'")
    for words in (("get",), ("get", "ft")):
        told = json.loads(filled.jobledger(*words, "--phase", "new", "-o", "json").out)
        assert [row["uid"] for row in told] == ["uid-of-first"]
    filled.jobledger("import", str(BUNDLE))
    assert "imported" not in filled.jobledger("get", "--phase", "new").err


def test_it_is_said_that_more_are_pending(terminal: Terminal, ledger_url: str) -> None:
    with app_engine(ledger_url) as engine:
        filled = postgres_ledger(engine)
        filled.take_all_shards()
        fill(filled)
    at = terminal.with_environment(DATABASE_URL=ledger_url)
    for words, shown, more in (
        (("--limit", "1"), 1, True),
        (("--limit", "1", "-n", "ml"), 1, True),
        (("--limit", "2", "-n", "ml"), 2, False),
        ((), OTHERS + 2, False),
    ):
        told = at.jobledger("decisions", *words)
        assert len(told.out.splitlines()) == 1 + shown
        assert ("there are more than 1 pending" in told.err) == more


@pytest.mark.parametrize("asked", [("get",), ("get", "ft"), ("get", "ml/ft")])
def test_a_job_that_was_deleted_before_it_ended_is_not_shown_as_running(
    filled: Terminal, asked: tuple[str, ...]
) -> None:
    lines = filled.jobledger(*asked).out.splitlines()
    (gone,) = [line for line in lines if "deleted while Running" in line]
    assert "ft" in gone
    assert [line for line in lines if "Complete" in line and "deleted" not in line]


def test_an_imported_job_is_shown_as_what_it_is(filled: Terminal) -> None:
    filled.jobledger("get", "silent-for-a-while", code=ExitCode.NOT_FOUND)
    filled.jobledger("import", str(BUNDLE))
    shown = filled.jobledger("get", "silent-for-a-while")
    assert "imported at" in shown.err
    assert "silent-for-a-while" in shown.out
    (row,) = json.loads(filled.jobledger("get", "ml/silent-for-a-while", "-o", "json").out)
    assert row["name"] == "silent-for-a-while"
    assert "more than 2 like that" in filled.jobledger("get", "--limit", "2").err, "of both kinds"
    assert "like that" not in filled.jobledger("get", "--limit", "3").err
    told = filled.jobledger("get", "silent-for-a-while", "--open")
    assert (told.out, "no job is like that" in told.err) == ("", True)


def test_what_is_suggested_of_an_earlier_run_asks_for_that_one(
    terminal: Terminal, ledger_url: str
) -> None:
    """Its name means the youngest, which succeeded."""
    lives: dict[str, tuple[int, Callable[[], tuple[Step, ...]]]] = {
        "first": (2, lambda: (*stories.working(), *stories.failing())),
        "second": (0, stories.succeeded),
    }
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        for mark, (age_days, story) in lives.items():
            with job_called(mark, age_days=age_days):
                same_name = replace(rayjob_builders.IDENTITY, name="ft")
                with patch.multiple(rayjob_builders, JOB="ft", IDENTITY=same_name):
                    append_records(ledger, recorded(story()))
    filled = terminal.with_environment(DATABASE_URL=ledger_url)
    suggested = "why it failed: jobledger explain uid-of-first"
    assert suggested in filled.jobledger("get").err
    assert suggested in filled.jobledger("get", "--phase", "Failed").err
    assert suggested in filled.jobledger("history", "uid-of-first").err
    told = filled.jobledger("explain", "uid-of-first").out
    assert "jobledger history uid-of-first --all" in told
    assert "jobledger explain uid-of-first --compare uid-of-second" in told
    assert "jobledger history ml/ft --table" in filled.jobledger("explain", "ft").out
