"""What `-o yaml` prints is read alike by readers in Go (kubectl, yq), as they read YAML."""

import pytest

from jobledger.adapters.cli.output import Output, show
from jobledger.adapters.service.objects.runtime_env import parse_runtime_env

TEXTS = (
    *("1e-5", "1E3", "09", "0777", "0o17", "0b11", "0x1f", "1_000", "12:30:45", "2026-01-01"),
    *("y", "N", "yes", "Off", "true", "null", "~", "", ".inf", "=", "<<", "- a", "a: b", "# a"),
    *("a\n", "a\n\n b", "a\tb", "\x1b[0m", "\x85", "a\u2028b", "\u202e", "é", "\U0001f600", "a b"),
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_stays_that_text(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A label `y` was true to `yq`, and a value `1e-5` a number."""
    row = {"name": text, "labels": {text: text}}
    show(Output.YAML, [row, row], ())
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert parse_runtime_env(f"rows:\n{printed}") == ({"rows": [row, row]}, "")
