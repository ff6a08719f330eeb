"""Which ledger is read, that another is there, and names that a shell completes from it."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.postgres.schema import version as schema_version
from jobledger.sandbox.postgres.user import temporary_directory
from tests.support import rayjob_stories as stories
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.postgres import plain_url
from tests.support.processes import Finished, Terminal
from tests.support.recorded import append_lives

pytestmark = [pytest.mark.faults, pytest.mark.postgres]


@pytest.fixture
def named(ledger_url: str) -> str:
    """A ledger with three jobs."""
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        lives = dict.fromkeys(("llama-ft", "llama-eval", "other"), stories.succeeded)
        append_lives(ledger, lives.items())
    return ledger_url


def completed(terminal: Terminal, typed: str) -> list[str]:
    """Return what a shell is offered for a line."""
    words = typed.split(" ")
    asked = terminal.with_environment(
        _JOBLEDGER_COMPLETE="complete_bash",
        COMP_WORDS=typed,
        COMP_CWORD=str(len(words) - 1),
    )
    return asked.jobledger(code=None).out.split()


@pytest.mark.parametrize("command", ["history", "explain", "get", "evidence", "replay", "what-if"])
def test_a_shell_completes_the_names_of_jobs(terminal: Terminal, named: str, command: str) -> None:
    told = terminal.with_environment(DATABASE_URL=named)
    assert sorted(completed(told, f"jobledger {command} lla")) == ["llama-eval", "llama-ft"]


def test_a_slash_completes_the_namespace_too(terminal: Terminal, named: str) -> None:
    told = terminal.with_environment(DATABASE_URL=named)
    (row,) = json.loads(told.jobledger("get", "other", "-o", "json").out)
    name = f"{row['namespace']}/{row['name']}"
    assert completed(told, f"jobledger history {name[:-2]}") == [name]


def test_nothing_is_offered_that_a_shell_would_carry_out(terminal: Terminal, named: str) -> None:
    """Whoever has the service's login may write rows that no API server would take."""
    with psycopg.connect(plain_url(named)) as connection:
        connection.execute("update job set name = 'llama$(id)' where name = 'llama-ft'")
    told = terminal.with_environment(DATABASE_URL=named)
    assert completed(told, "jobledger history lla") == ["llama-eval"]


def test_completion_makes_no_ledger_and_says_nothing(terminal: Terminal) -> None:
    nowhere = terminal.directory / "nowhere"
    told = terminal.with_environment(JOBLEDGER_DATA_DIR=str(nowhere))
    assert completed(told, "jobledger history lla") == []
    assert not nowhere.exists()
    gone = terminal.with_environment(DATABASE_URL="postgresql://x@127.0.0.1:1/x")
    assert completed(gone, "jobledger history lla") == []


def test_the_version_is_told(terminal: Terminal) -> None:
    told = terminal.jobledger("--version").out
    assert told.startswith("jobledger 0.")
    assert f", schema {schema_version.head()}" in told


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the user of a private Postgres may enter, too."""
    made = temporary_directory("jobledger-which-")
    yield made
    shutil.rmtree(made, ignore_errors=True)


def test_a_ledger_that_is_made_beside_another_is_told(terminal: Terminal, place: Path) -> None:
    """Whoever forgets `--data-dir` reads an empty ledger, and is told of the other."""
    first, second = place / "first", place / "second"

    def listed(at: object) -> Finished:
        return terminal.with_environment(JOBLEDGER_DATA_DIR=str(at)).jobledger("get")

    made = listed(first).err
    assert f"ledger: the private one in {first}, made just now" in made
    _, _, told = made.partition("another ledger")
    assert str(place) not in told, "there may be one of whoever runs the tests"
    forgotten = listed(second).err
    assert f"the private one in {second}, made just now" in forgotten
    assert f"another ledger is there: --data-dir {first}" in forgotten
    again = listed(first).err
    assert "made just now" not in again
    assert f"--data-dir {second}" in again


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("decisions",), 0),
        (("explain", "train"), ExitCode.NOT_FOUND),
        (("history", "train", "-f"), ExitCode.NOT_FOUND),
        (("what-if", "--backoff-limit", "1"), 0),
        (("report", "failures"), 0),
        (("replay",), 0),
        (("verify",), 0),
    ],
)
def test_an_answer_from_a_ledger_made_for_it_says_so(
    terminal: Terminal, place: Path, words: tuple[str, ...], code: int
) -> None:
    """No decision is pending, nothing failed, no such job: of another ledger than was meant."""
    made = place / "made"
    asked = terminal.with_environment(JOBLEDGER_DATA_DIR=str(made))
    assert f"the private one in {made}, made just now" in asked.jobledger(*words, code=code).err
    assert "made just now" not in asked.jobledger(*words, code=code).err


def test_run_ends_at_once_where_its_role_lacks_a_right(terminal: Terminal, ledger_url: str) -> None:
    """It used to warn at each append, for ever."""
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        admin.execute("REVOKE EXECUTE ON FUNCTION append_v1 FROM jobledger_app")
    ended = terminal.with_environment(DATABASE_URL=ledger_url).jobledger(
        "run", "--port", "0", code=ExitCode.MISCONFIGURED
    )
    assert "GRANT EXECUTE ON FUNCTION append_v1 TO jobledger_app" in ended.err
