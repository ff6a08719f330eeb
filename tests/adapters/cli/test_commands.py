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


@pytest.mark.parametrize("option", ["--namespace", "-n", "--cluster"])
@pytest.mark.parametrize("command", [["recover", "--all"], ["get"]])
def test_a_namespace_or_cluster_that_is_given_and_empty_is_not_all(
    command: list[str], option: str
) -> None:
    """As in `recover --all -n "$UNSET"`."""
    ended = CliRunner().invoke(app, [*command, option, ""], env={"COLUMNS": "120"})
    assert ended.exit_code == ExitCode.USAGE
    assert "it is empty; leave it out for all of them" in ended.output


@pytest.mark.parametrize(
    "typed",
    [
        ["report", "cost", "--queue", ""],
        ["report", "failures", "--until="],
        ["history", "train", "--at", ""],
        ["get", "--phase", ""],
        ["what-if", "--retry", ""],
        ["verify", "--archives", ""],
        ["archive", "create", "--to", ""],
    ],
)
def test_an_option_that_is_given_and_empty_is_not_left_out(typed: list[str]) -> None:
    """As in `report cost --queue "$UNSET"`, which told the cost of all queues."""
    nowhere = {"COLUMNS": "120", "DATABASE_URL": "postgresql://127.0.0.1:1/none"}
    ended = CliRunner().invoke(app, typed, env=nowhere)
    assert ended.exit_code == ExitCode.USAGE
    assert "it is empty; leave it out" in ended.output
