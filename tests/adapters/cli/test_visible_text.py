"""What a terminal would obey is shown, and JSON stays JSON of the same meaning."""

import io
import json
import re
import sys

import pytest
import typer
from rich.text import Text

from jobledger.adapters.cli import output
from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.export import export
from jobledger.adapters.cli.streams import escape_what_is_not_taken
from jobledger.core.values.visible_text import one_line, visible

HOSTILE = {
    "a colour": "\x1b[31mred",
    "the cursor": "\x1b[2J\x1b[1;1Hgone",
    "a title": "\x1b]0;owned\x07",
    "a link": "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "the clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "a bell": "ding\x07",
    "a return": "Failed\rComplete",
    "a backspace": "no\x08\x08ok",
    "a control of C1": "\x9b31m and \x9d52;c;x\x9c",
    "a delete": "\x7f",
    "another direction": "\u202egnp.exe\u202c \u2066x\u2069",
    "a separator of lines": "one\u2028two",
    "nothing that is seen": "tr\u200bain tr\u2060ain tr\u00adain \ufefftrain",
    "a text in tags": "train" + "".join(chr(0xE0000 + ord(one)) for one in "evil"),
    "a text in variations": "train" + "".join(chr(0xE0100 + ord(one)) for one in "evil"),
    "letters that fill nothing": "tr\u3164ain tr\u115fain tr\u034fain",
    "a NUL": "a\x00b",
    "half of a character": "a\ud800b",
}
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u115f\u200b\u2028-\u202e\u2060-\u2069\u3164\ufeff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("as_text", [False, True], ids=["a string", "a styled text"])
def test_nothing_that_is_printed_is_obeyed(said: str, *, as_text: bool) -> None:
    written = io.StringIO()
    console = output._Console(file=written, width=200, markup=False, emoji=False)  # noqa: SLF001  # what all commands print with
    console.print(Text(f"job {said}!", style="red") if as_text else f"job {said}!", soft_wrap=True)
    assert OBEYED.search(written.getvalue()) is None
    assert written.getvalue().startswith("job ")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "iso-8859-1"])
def test_json_is_whole_whatever_the_output_takes(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended in a traceback, or in bytes that no reader of JSON takes."""
    written, said = io.BytesIO(), {"message": "Größe \N{SNOWMAN} \N{ROCKET}"}
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
    escape_what_is_not_taken()
    output.print_json(said)
    output.console.print(said["message"])
    sys.stdout.flush()
    document, _, text = written.getvalue().decode().rpartition("}\n")
    assert json.loads(f"{document}}}") == said
    assert text.startswith("Größe" if encoding == "utf-8" else r"Gr\u00f6\u00dfe \u2603 \ud83d")


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_a_cell_of_a_table_is_not_obeyed(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    console = output._Console(file=written, width=200, markup=False, emoji=False)  # noqa: SLF001  # as above
    monkeypatch.setattr(output, "console", console)
    output.print_table([{"name": said, "message": f"[red]{said}[/red]"}], ["name", "message"])
    assert OBEYED.search(written.getvalue()) is None
    assert "[red]" in written.getvalue(), "markup is text"


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_json_says_the_same_and_is_not_obeyed(
    said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output.print_json({said: [said]})
    written = capsys.readouterr().out
    assert OBEYED.search(written) is None
    assert json.loads(written) == {said: [said]}


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_yaml_is_not_obeyed(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    output.show(output.Output.YAML, [{"name": said}], ["name"])
    assert OBEYED.search(capsys.readouterr().out) is None


def test_a_bundle_is_kept_out_of_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It holds what a job said as it said it, or its checksums would be those of another text."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    with pytest.raises(typer.Exit) as ended:
        export("train", database_url="postgresql://nobody@127.0.0.1:9/none")
    assert ended.value.exit_code == ExitCode.USAGE
    assert "not for a terminal" in capsys.readouterr().err


def test_what_is_harmless_stays_as_it_is() -> None:
    harmless = "line\tone\nzwei äöü 日本語 👩‍🚀"
    assert visible(harmless) == harmless
    assert visible("\x1b[31m") == "\\x1b[31m"
    assert visible("\u202e") == "\\u202e"
    assert visible("\U000e0041") == "\\U000e0041"
    assert visible("a\u200cb\u200dc") == "a\u200cb\u200dc", "joiners, which words need"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("one\ntwo", "one two"),
        ("one \r\n\n  two\u2028three\n", "one two three"),
        ("one  two: ", "one  two: "),
        ("", ""),
        ("\n", ""),
        ("a\n\x1b[31mb", "a \\x1b[31mb"),
    ],
)
def test_a_line_is_one(said: str, shown: str) -> None:
    assert one_line(said) == shown
