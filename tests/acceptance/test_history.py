"""`jobledger history` and `explain`: what happened, how it stood at an instant, and why."""

import json
from pathlib import Path

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from tests.support import rayjob_stories as stories
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.processes import Terminal
from tests.support.rayjob_builders import manifest
from tests.support.recorded import append_lives, append_records, job_called, recorded

pytestmark = pytest.mark.postgres


@pytest.fixture
def filled(terminal: Terminal, ledger_url: str) -> Terminal:
    """A terminal at a ledger with a failed job."""
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        failed = {
            "failed": lambda: (*stories.working(), *stories.failing()),
            "mistaken": lambda: (manifest(problem="no entrypoint"),),
        }
        append_lives(ledger, failed.items())
        with job_called("failed", age_days=1, run="-before"):
            append_records(ledger, recorded(stories.succeeded()))
    return terminal.with_environment(DATABASE_URL=ledger_url)


def test_nothing_is_known_of_a_time_to_come(filled: Terminal) -> None:
    endless = filled.jobledger("history", "failed", "--at", "9" * 5_000, code=ExitCode.USAGE)
    assert "is no instant" in endless.err
    told = filled.jobledger("history", "failed", "--at", "9000-01-01", code=ExitCode.USAGE).err
    assert "9000-01-01 is in the future" in told


def test_two_namespaces_for_one_job_are_one_too_many(filled: Terminal) -> None:
    told = filled.jobledger("explain", "ml/failed", "-n", "other", code=ExitCode.USAGE).err
    assert "ml/failed is in namespace ml, and not in other" in told
    assert filled.jobledger("explain", "ml/failed", "-n", "ml").out


def test_what_is_not_found_says_what_is_there(filled: Terminal) -> None:
    none = filled.jobledger("get", "-n", "other")
    assert "no job is like that; `jobledger get` lists all" in none.err
    told = filled.jobledger("evidence", "failed", "ffffffff", code=ExitCode.NOT_FOUND).err
    assert "`jobledger evidence failed` lists them" in told
    kind = filled.jobledger("report", "failures", "--kind", "rayjob", code=ExitCode.USAGE).err
    assert "no kind 'rayjob'" in kind
    assert "RayJob" in kind


def test_the_next_command_is_printed(filled: Terminal) -> None:
    complete = filled.jobledger("explain", "uid-of-failed-before").out
    assert "attempt by attempt: jobledger history uid-of-failed-before --table" in complete


def test_a_moment_is_shown_in_both_senses(filled: Terminal) -> None:
    told = filled.jobledger("history", "failed", "--at", "2026-11-21T12:00:30.010Z").out
    assert "TRUE" in told
    assert "KNOWN" in told
    assert "last seen" in told
    moment = json.loads(
        filled.jobledger(
            "history", "failed", "--at", "2026-11-21T12:00:30.010Z", "--output", "json"
        ).out
    )
    assert moment["true"]["job"]["job_status"] == "RUNNING"
    assert moment["known"]["job"]["job_status"] == ""
    first = json.loads(filled.jobledger("history", "failed", "--at", "1", "-o", "json").out)
    assert first["known"]["version"] == 1


@pytest.mark.parametrize(
    ("at", "code"), [("9999", ExitCode.NOT_FOUND), ("yesterday", ExitCode.USAGE)]
)
def test_an_instant_that_is_none_is_told(filled: Terminal, at: str, code: ExitCode) -> None:
    assert "Traceback" not in filled.jobledger("history", "failed", "--at", at, code=code).err


def test_a_finished_job_is_followed_to_its_end(filled: Terminal) -> None:
    """Nothing is left to do in it, so the command ends by itself."""
    told = filled.jobledger("history", "failed", "--follow").out
    assert "JobFailed" in told


def test_attempts_have_a_line_each_and_events_their_data(filled: Terminal) -> None:
    (attempt,) = json.loads(filled.jobledger("history", "failed", "--table", "-o", "json").out)
    assert (attempt["number"], attempt["outcome"]) == (1, "failed")
    assert attempt["cause"] == "application"
    heading, line = filled.jobledger("history", "failed", "--table").out.splitlines()
    assert heading.split("  ")[0] == "ATTEMPT"
    assert {"application", "AppFailed", "11.0 s", "28.0 s"} <= {
        cell.strip() for cell in line.split("  ")
    }
    story = json.loads(filled.jobledger("history", "failed", "-o", "json").out)
    (end,) = [line for line in story if line["event"] == "JobFailed"]
    assert end["data"]["reason"] == "AppFailed"
    assert end["recorded_at"] == "2026-11-21T12:00:42.020000Z"
    assert end["actor"] == "jobledger-0"


def test_the_end_of_a_story_says_how_to_ask_why(filled: Terminal) -> None:
    """On standard error: what is piped on stays the story."""
    asks = "why it failed: jobledger explain ml/failed\n"
    assert filled.jobledger("history", "failed").err == asks
    assert filled.jobledger("history", "failed", "--follow").err == asks
    assert "why" not in filled.jobledger("history", "uid-of-failed-before").err


def test_a_job_without_an_attempt_has_no_table(filled: Terminal) -> None:
    told = filled.jobledger("history", "mistaken", "--table")
    assert told.out == ""
    assert "no attempt has begun" in told.err
    empty = filled.jobledger("history", "mistaken", "--table", "--output", "json").out
    assert json.loads(empty) == []


def test_explain_tells_why_and_cites(filled: Terminal, tmp_path: Path) -> None:
    told = filled.jobledger("explain", "failed").out
    assert "because the program itself failed" in told
    assert "No further retry: backoffLimit is 0" in told
    assert "failure class application" in told
    account = json.loads(filled.jobledger("explain", "failed", "--output", "json").out)
    assert all(sentence["versions"] for sentence in account["sentences"])
    filled.jobledger("export", "failed", "--to", "failed.bundle")
    nowhere = filled.with_environment(DATABASE_URL="")
    of_bundle = nowhere.jobledger("explain", "failed.bundle").out
    *kept, compares = told.splitlines()
    assert of_bundle.replace("failed.bundle", "ml/failed").splitlines() == kept
    assert kept[-1].endswith("jobledger history ml/failed --all")
    assert compares.startswith("a run of it that worked: ")
    lines = nowhere.jobledger("history", "failed.bundle", "--all").out
    assert "JobFailed" in lines
    assert (tmp_path / "failed.bundle").exists()


def test_a_run_that_failed_is_compared_with_one_that_worked(filled: Terminal) -> None:
    """By the command that `explain` prints; a bundle of the other run answers the same."""
    suggested = filled.jobledger("explain", "failed").out.rstrip().splitlines()[-1]
    command = suggested.partition(": jobledger ")[2].split()
    assert command == ["explain", "ml/failed", "--compare", "uid-of-failed-before"]
    told = filled.jobledger(*command).out
    assert ", failed (application); there RayJob ml/failed of 2026-11-20" in told
    compared = json.loads(filled.jobledger(*command, "--output", "json").out)
    assert compared["there"]["outcome"] == "complete"
    assert compared["same"] == ["manifest", "cluster"]
    filled.jobledger("export", "uid-of-failed-before", "--to", "before.bundle")
    assert filled.jobledger("explain", "failed", "--compare", "before.bundle").out == told
    same = filled.jobledger("explain", "failed", "--compare", "failed", code=ExitCode.USAGE)
    assert "both are the same run" in same.err


def test_a_job_is_followed_as_json_a_document_a_line(filled: Terminal) -> None:
    lines = filled.jobledger("history", "failed", "--follow", "-o", "json").out.splitlines()
    whole = json.loads(filled.jobledger("history", "failed", "-o", "json").out)
    assert [json.loads(line) for line in lines] == whole
    assert len(lines) > 10


def test_a_bundle_cannot_be_followed(filled: Terminal) -> None:
    for words in (("some.bundle",), ("failed", "--at", "3"), ("failed", "--table")):
        told = filled.jobledger("history", *words, "--follow", code=ExitCode.USAGE).err
        assert "of a job of the ledger: leave out --at, --table and --output yaml" in told
