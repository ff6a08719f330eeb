"""Tables: whole where a program reads them, fitted where a person does; names are never cut."""

import io
from collections.abc import Sequence

import pytest
from rich.console import Console
from rich.text import Text

from jobledger.adapters.cli import output
from jobledger.adapters.cli.jobs.get import COLUMNS
from jobledger.adapters.cli.output import Output, show
from jobledger.adapters.cli.tables import table, too_wide, whole_lines

NAME = "rank-train-0001-with-a-name-as-long-as-they-are"
ROW = dict.fromkeys(COLUMNS, "some-value") | {
    "namespace": "team-ranking",
    "name": NAME,
    "ray_cluster_name": f"{NAME}-x7k2p",
    "started_at": "2026-11-21 12:00:00",
    "ended_at": "2026-11-21 12:30:00",
}


def cells(columns: Sequence[str] = COLUMNS) -> dict[str, list[Text]]:
    return {name: [Text(name.upper()), Text(ROW.get(name, "x" * 200))] for name in columns}


def shown_in(width: int, columns: Sequence[str] = COLUMNS) -> str:
    whole = cells(columns)
    left_out = too_wide(whole, width)
    console = Console(width=width, file=io.StringIO())
    with console.capture() as said:
        console.print(table({k: v for k, v in whole.items() if k not in left_out}, width))
    return said.get()


def test_what_a_program_reads_is_whole_and_a_line_per_row() -> None:
    head, row = whole_lines(cells())
    assert head.split() == [name.upper() for name in COLUMNS]
    assert f" {NAME}-x7k2p " in row
    assert head.index("NAME ") == row.index(NAME)
    assert not row.endswith(" ")


def test_a_very_long_name_widens_no_row_but_its_own() -> None:
    names = [Text("NAME"), Text("n" * 253), Text("short")]
    phases = [Text("PHASE"), Text("Running"), Text("Failed")]
    head, long, short = whole_lines({"name": names, "phase": phases})
    assert head == "NAME" + " " * 61 + "PHASE"
    assert long == "n" * 253 + "  Running"
    assert short == "short" + " " * 60 + "Failed"


@pytest.mark.parametrize("width", [70, 80, 100, 120, 160, 250])
def test_a_terminal_is_shown_whole_names_and_never_half_a_cell(width: int) -> None:
    said = shown_in(width)
    assert len(said.splitlines()) == 2
    assert NAME in said
    assert "NAMESPACE" in said
    assert "team-ranking" in said
    assert "…" not in said
    assert all(len(line) <= width for line in said.splitlines())


def test_the_phase_is_still_there_where_little_is() -> None:
    assert "PHASE" in shown_in(100)
    assert "RAY_CLUSTER_NAME" not in shown_in(100)
    assert not too_wide(cells(), 300)


def test_words_are_wrapped_before_a_column_goes() -> None:
    assert not too_wide(cells(("name", "message")), len(NAME) + 2 + 24)
    assert NAME in shown_in(len(NAME) + 2 + 24, ("name", "message"))


def test_names_that_have_no_room_at_all_go_on_in_a_second_line() -> None:
    said = shown_in(30, ("name",))
    assert "".join(line.strip() for line in said.splitlines()[1:]) == NAME
    assert not {"name", "namespace"} & set(too_wide(cells(), 40))


@pytest.mark.parametrize("terminal", [True, False])
def test_show_fits_a_terminal_and_leaves_the_rest_whole(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=terminal, color_system=None)
    monkeypatch.setattr(output, "console", console)
    show(Output.TABLE, [{**ROW, "digest": "a" * 64}], ("name", "digest", "ray_cluster_name"))
    said = file.getvalue()
    assert NAME in said
    assert ("left out for want of room: ray cluster name" in said) is terminal
    assert (f"{NAME}-x7k2p" in said) is not terminal
    assert ("a" * 64 in said) is not terminal


@pytest.mark.parametrize("output_form", list(Output))
def test_that_there_is_nothing_is_said_to_people_alone(
    output_form: Output, capsys: pytest.CaptureFixture[str]
) -> None:
    show(output_form, [], COLUMNS, "no jobs found")
    said = capsys.readouterr()
    is_table = output_form is Output.TABLE
    assert (said.out, said.err) == (("", "no jobs found\n") if is_table else ("[]\n", ""))
