"""`jobledger report`: every report in every form, and wrong words told in one line."""

import csv
import io
import json
import os
import pty
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest
from psycopg import sql
from sqlalchemy import make_url
from typer.main import get_command

from docs.cookbook.recipes import RECIPES
from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.main import app
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.schema.version import downgrade
from tests.support.postgres import plain_url
from tests.support.processes import Terminal, jobledger_command

pytestmark = pytest.mark.postgres

COMMAND = get_command(app)
PERIOD = ("--since", "2026-10-19", "--until", "2026-11-16")


@pytest.fixture
def told(terminal: Terminal, sample_url: str) -> Terminal:
    """A terminal at a ledger with the sample data."""
    return terminal.with_environment(DATABASE_URL=sample_url)


def test_every_form_of_a_report_says_the_same(told: Terminal) -> None:
    table = told.jobledger("report", "failures", *PERIOD).out
    document = json.loads(told.jobledger("report", "failures", *PERIOD, "-o", "json").out)
    ended = told.jobledger("report", "failures", *PERIOD, "-o", "csv")
    assert ended.err == "", "nothing but the rows"
    lines = list(csv.DictReader(io.StringIO(ended.out)))
    told.jobledger("report", "failures", *PERIOD, "--to", "rows.csv")
    assert (told.directory / "rows.csv").read_text() == ended.out
    told_so = [(row["class"], row["reason"], row["failures"]) for row in document["rows"]]
    assert len(told_so) > 2
    assert [(row["class"], row["reason"], int(row["failures"])) for row in lines] == told_so
    assert table.startswith("failures: from 2026-10-19 00:00 to before 2026-11-16 00:00 UTC\n")
    for kind, reason, _ in told_so:
        assert kind in table
        assert reason in table


def test_a_list_of_reports_with_a_sentence_each(terminal: Terminal) -> None:
    for words in ((), ("--list",)):
        listed = terminal.jobledger("report", *words).out
        for report in REPORTS.values():
            assert report.name in listed
            assert report.summary in listed


def test_a_report_says_what_it_counts_without_a_ledger(terminal: Terminal) -> None:
    described = terminal.jobledger("report", "slo", "--describe").out
    assert "good / judged" in described
    assert "--within" in described
    columns = json.loads(terminal.jobledger("report", "slo", "--describe", "-o", "json").out)
    assert {"name", "unit", "meaning"} == set(columns["columns"][0])


def test_a_chart_only_where_somebody_looks(told: Terminal) -> None:
    words = ("report", "waste", *PERIOD, "--by", "day,namespace")
    shown = told.jobledger(*words, "--chart").out
    assert "cluster time of failed attempts\n" in shown
    assert "█" in shown
    assert "\x1b" not in shown, "no colours outside a terminal"
    assert "█" not in told.jobledger(*words).out


def here(*words: str) -> int:
    """Run `report waste` in this process, where its libraries are loaded; return its exit code."""
    return int(COMMAND.main(["report", "waste", *PERIOD, *words], standalone_mode=False) or 0)


def test_parquet_and_pictures_are_files(
    sample_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATABASE_URL", sample_url)
    rows, picture = tmp_path / "waste.parquet", tmp_path / "waste.png"
    assert not here("--by", "day,namespace", "--to", str(rows), "--plot", str(picture))
    assert pq.read_table(rows).column_names[:3] == ["day", "namespace", "wasted_seconds"]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_file_that_cannot_be_written(
    sample_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", sample_url)
    for words in (("--to", "no/such/place.csv"), ("--plot", "no/such/place.png")):
        assert here(*words) == ExitCode.MISCONFIGURED
        assert "cannot be written: No such file or directory" in capsys.readouterr().err


def in_a_terminal(told: Terminal, *words: str, **environment: str) -> str:
    """Run a command in a terminal 80 cells wide and return what it shows."""
    ours, theirs = pty.openpty()
    child = os.posix_spawn(
        jobledger_command()[0],
        [*jobledger_command(), *words],
        {**told.environment, "COLUMNS": "80", "TERM": "xterm", **environment},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, theirs, 1),
            (os.POSIX_SPAWN_DUP2, theirs, 2),
        ],
        setsid=True,
    )
    os.close(theirs)
    shown = bytearray()
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:
        pass  # so a terminal tells that its last program has ended
    os.close(ours)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, shown.decode()
    return shown.decode().replace("\r\n", "\n")


def test_in_a_terminal_there_is_a_chart_with_colours(told: Terminal) -> None:
    shown = in_a_terminal(told, "report", "waste", *PERIOD)
    assert "█" in shown
    assert "\x1b[31m" in shown, "red"
    assert "asking for waste" in shown, "what is waited for, on standard error"


def test_no_colours_if_nobody_wants_them(told: Terminal) -> None:
    shown = in_a_terminal(told, "report", "waste", *PERIOD, NO_COLOR="1")
    assert "█" in shown
    assert "\x1b[31m" not in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("failurs",), "no report 'failurs'; did you mean failures?"),
        (("xyz",), "there are failures, retries, "),
        (("waste", "--by", "imag"), "no dimension of waste 'imag'; did you mean image?"),
        (("stuck", "--by", "cluster"), "each row of stuck is one job: it cannot be grouped"),
        (("waste", "--within", "5m"), "--within is for slo, not for waste"),
        (("slo", "--longer-than", "5m"), "--longer-than is for stuck, idle, not for slo"),
        (
            ("waste", "--since", "2026-11-02", "--until", "2026-11-02"),
            "--since 2026-11-02T00:00:00+00:00 is not before --until 2026-11-02T00:00:00+00:00",
        ),
        (("waste", "--timezone", "Europe/Berln"), "did you mean Europe/Berlin"),
        (("waste", "--plot", "waste.gif"), "the name of a picture ends in .png, .svg"),
        (("waste", "--to", "waste.xlsx"), "waste.xlsx: say --output csv, json or parquet"),
    ],
)
def test_what_makes_no_sense_is_said_before_the_ledger_is_asked(
    terminal: Terminal, words: tuple[str, ...], said: str
) -> None:
    nowhere = terminal.with_environment(DATABASE_URL="postgresql://u:p@127.0.0.1:9/none")
    ended = nowhere.jobledger("report", *words, code=ExitCode.USAGE)
    assert ended.err.count("\n") == 1, ended
    assert said in ended.err
    assert ended.out == ""


@pytest.mark.parametrize("words", [("--since", "soon"), ("--within", "5 minutes")])
def test_an_instant_or_a_duration_that_is_none(terminal: Terminal, words: tuple[str, str]) -> None:
    ended = terminal.jobledger("report", "slo", *words, code=ExitCode.USAGE)
    assert "write it as" in ended.err


def test_an_empty_ledger_says_so(terminal: Terminal, ledger_url: str) -> None:
    empty = terminal.with_environment(DATABASE_URL=ledger_url)
    assert "the ledger is empty" in empty.jobledger("report", "waste").out
    ended = empty.jobledger("report", "waste", "-o", "json")
    assert json.loads(ended.out)["rows"] == []
    assert "the ledger is empty" in ended.err


def test_a_schema_that_is_too_old_says_what_to_do(terminal: Terminal, ledger_url: str) -> None:
    downgrade(ledger_url, "0106")
    old = terminal.with_environment(DATABASE_URL=ledger_url)
    ended = old.jobledger("report", "waste", code=ExitCode.MISCONFIGURED)
    assert "run `jobledger db upgrade`" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("role", ["jobledger_report", "jobledger_app"])
def test_an_analyst_needs_no_more_than_to_read(
    terminal: Terminal, sample_url: str, role: str
) -> None:
    name = f"analyst_{role}_{make_url(sample_url).database}"
    with psycopg.connect(plain_url(sample_url), autocommit=True) as admin:
        user = sql.Identifier(name)
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(user))
        admin.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), user))
    try:
        url = make_url(sample_url).set(username=name, password="secret")
        analyst = terminal.with_environment(DATABASE_URL=url.render_as_string(False))
        shown = analyst.jobledger("report", "waste", *PERIOD).out
        assert "WASTED" in shown
    finally:
        with psycopg.connect(plain_url(sample_url), autocommit=True) as admin:
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_times_are_those_of_the_zone(told: Terminal) -> None:
    """A day in Berlin begins before one in London: the same words mean another period."""
    words = ("report", "busiest", "--by", "day", "--since", "2026-10-24", "--until", "2026-10-27")
    berlin = json.loads(told.jobledger(*words, "-o", "json", "--timezone", "Europe/Berlin").out)
    assert berlin["since"] == "2026-10-24T00:00:00+02:00"
    assert [row["day"] for row in berlin["rows"]] == [
        "2026-10-24T00:00:00+02:00",
        "2026-10-25T00:00:00+02:00",
        "2026-10-26T00:00:00+01:00",
    ]
    assert json.loads(told.jobledger(*words, "-o", "json").out)["since"] == "2026-10-24T00:00:00Z"


def test_the_commands_of_the_cookbook_run(
    sample_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", sample_url)
    for recipe in RECIPES:
        if recipe.command:
            words = recipe.command.split()[1:]
            assert not COMMAND.main([*words, *PERIOD, "-o", "csv"], standalone_mode=False)
            assert capsys.readouterr().out.count("\n") > 1, words
