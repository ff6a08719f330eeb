"""What nobody should type, and some do: one line says what is wrong with it, never a traceback."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.lazy_commands import PIPE_CLOSED
from tests.acceptance.site import Site
from tests.support import rayjob_stories as stories
from tests.support.ledgers import app_engine, postgres_ledger, tampering
from tests.support.processes import COMMAND_SECONDS, Finished, Terminal, jobledger_command
from tests.support.recorded import append_lives

pytestmark = pytest.mark.postgres


@pytest.fixture
def filled(terminal: Terminal, ledger_url: str) -> Terminal:
    """A terminal at a ledger with a failed job."""
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        failed = {"failed": lambda: (*stories.working(), *stories.failing())}
        append_lives(ledger, failed.items())
    data = str(terminal.directory / "data")
    return terminal.with_environment(DATABASE_URL=ledger_url, JOBLEDGER_DATA_DIR=data)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody else serves on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def assert_told(ended: Finished, *said: str) -> None:
    assert "Traceback" not in ended.everything
    words = " ".join(ended.err.replace("│", " ").split())
    assert all(one in words for one in said), ended


@pytest.mark.parametrize("command", ["run", "serve", "sandbox"])
def test_a_port_that_is_taken_is_told_with_the_option_that_chooses_another(
    site: Site, taken: int, command: str
) -> None:
    ended = site.terminal.jobledger(command, "--port", str(taken), code=ExitCode.MISCONFIGURED)
    assert_told(ended, f"127.0.0.1:{taken}: Address already in use", "--port")
    assert ended.err.count("\n") == 1
    assert ("JOBLEDGER_PORT" in ended.err) is (command != "sandbox")


@pytest.mark.parametrize("command", ["serve", "run", "sandbox"])
def test_a_number_that_is_no_port_is_refused(terminal: Terminal, command: str) -> None:
    ended = terminal.jobledger(command, "--port", "99999", code=ExitCode.USAGE)
    assert_told(ended, "Invalid value for '--port'", "65535")


def test_a_port_in_the_environment_has_the_same_bounds(terminal: Terminal) -> None:
    ended = terminal.with_environment(JOBLEDGER_PORT="99999").jobledger(
        "serve", code=ExitCode.MISCONFIGURED
    )
    assert_told(ended, "setting port", "65535")


@pytest.mark.parametrize("words", ["downgrade nonsense --yes", "upgrade --revision nonsense"])
def test_a_revision_that_there_is_none_of(filled: Terminal, words: str) -> None:
    ended = filled.jobledger("db", *words.split(), code=ExitCode.USAGE)
    assert_told(ended, "'nonsense'", "there are base, 0101, 0102", "head")


def test_a_file_or_a_directory_that_cannot_be_written(filled: Terminal, tmp_path: Path) -> None:
    for name in ("no/such/directory/x", "no/such/directory/x.gz"):
        ended = filled.jobledger("export", "failed", "--to", name, code=ExitCode.MISCONFIGURED)
        assert_told(ended, f"{name} cannot be written: No such file")
    (tmp_path / "file").touch()
    ended = filled.jobledger("sandbox", "--dir", "file", code=ExitCode.MISCONFIGURED)
    assert_told(ended, "--dir file cannot be used: File exists")


def test_a_name_that_no_job_and_no_file_can_have(filled: Terminal) -> None:
    for command in ("history", "get", "replay"):
        assert_told(filled.jobledger(command, "a" * 5000, code=ExitCode.NOT_FOUND), "no job a")


def test_a_ready_file_that_cannot_be_written(filled: Terminal) -> None:
    words = ("serve", "--port", "0", "--ready-file", "no/directory")
    ended = filled.jobledger(*words, code=ExitCode.MISCONFIGURED)
    problem = "--ready-file no/directory cannot be written: No such file or directory"
    assert ended.err == f"jobledger: {problem}\n"


@pytest.mark.parametrize(
    "words",
    [
        "--since 0001-01-01T00:00Z --timezone America/New_York",
        "--until 9999-12-31T23:59:59Z --timezone Asia/Tokyo -o json",
        "--until 0001-01-03",
    ],
)
def test_a_period_beyond_the_calendar(filled: Terminal, words: str) -> None:
    ended = filled.jobledger("report", "busiest", *words.split(), code=ExitCode.USAGE)
    assert_told(ended, "beyond the years 1 to 9999")


def test_a_row_without_events_is_told_as_that(filled: Terminal, ledger_url: str) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute("DELETE FROM event")
    for command in ("history", "export", "explain", "evidence"):
        ended = filled.jobledger(command, "failed", code=ExitCode.FOUND_WRONG)
        assert_told(ended, "no event in the log", "jobledger rebuild --check")


def test_bytes_that_are_no_characters_are_refused(filled: Terminal) -> None:
    ended = filled.jobledger("history", os.fsdecode(b"a\xff"), code=ExitCode.USAGE)
    assert_told(ended, r"'a\udcff' is not UTF-8")


@pytest.mark.parametrize(
    "words",
    [
        "report busiest --limit 99999999999999999999",
        "get --limit 99999999999999999999",
        "decisions --limit 99999999999999999999",
        "report slo --within 999999999d",
        f"report slo --within {'9' * 5000}d",
        "report stuck --longer-than 36501d",
    ],
)
def test_numbers_without_sense_are_refused_before_postgres_is_asked(
    filled: Terminal, words: str
) -> None:
    ended = filled.jobledger(*words.split(), code=ExitCode.USAGE)
    assert_told(ended, "Invalid value")


def test_numbers_at_their_bounds_are_answered(filled: Terminal) -> None:
    for words in (
        "report busiest --limit 1000000000",
        "get --limit 1000000000",
        "decisions --limit 1000000000",
        "report slo --within 36500d",
        "report stuck --longer-than 36500d",
    ):
        filled.jobledger(*words.split())


@pytest.mark.parametrize("phase", ["Failed", "failed", "FAILED"])
def test_a_phase_is_known_in_any_case(filled: Terminal, phase: str) -> None:
    assert "Failed" in filled.jobledger("get", "--phase", phase).out.splitlines()[1]


def test_a_phase_that_there_is_none_of(filled: Terminal) -> None:
    ended = filled.jobledger("get", "--phase", "nope", code=ExitCode.USAGE)
    assert_told(ended, "no phase 'nope'", "Complete", "JobsBuildFailed", "ValidationFailed")


def test_a_name_of_nothing_means_no_job(filled: Terminal) -> None:
    for command in ("history", "explain", "export", "get", "decisions", "replay"):
        for name in ("", " ", "default/"):
            assert_told(filled.jobledger(command, name, code=ExitCode.USAGE), "names no job")


@pytest.mark.parametrize("content", ["", "\n---\n---\n", "# only words\n"])
def test_a_manifest_file_that_holds_nothing(site: Site, content: str) -> None:
    (site.terminal.directory / "empty.yaml").write_text(content)
    ended = site.terminal.jobledger("apply", "-f", "empty.yaml", code=ExitCode.USAGE)
    assert_told(ended, "empty.yaml holds no object")


@pytest.mark.parametrize("words", ["history failed --all", "export failed"])
def test_a_reader_that_went_away_ends_a_command_as_sigpipe_does(
    filled: Terminal, words: str
) -> None:
    """By the shell's account of it, 128 + 13, so that `verify | head -1` is not "found wrong"."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [*jobledger_command(), *words.split()],
            cwd=filled.directory,
            env=dict(filled.environment),
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (PIPE_CLOSED, b"")
