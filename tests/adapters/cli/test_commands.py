"""The table of commands, as it is met by who mistypes one."""

import pytest
from typer.testing import CliRunner

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.main import app


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("histry", "No such command 'histry'. Did you mean 'history'?"),
        ("doctr", "No such command 'doctr'. Did you mean 'doctor'?"),
        ("quux", "No such command 'quux'."),
    ],
)
def test_a_mistyped_command_is_told_what_it_is_like(typed: str, told: str) -> None:
    ended = CliRunner().invoke(app, [typed], env={"COLUMNS": "120"})
    assert ended.exit_code == ExitCode.USAGE
    assert told in ended.output
