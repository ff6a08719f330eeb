"""The pages of the command line: every command with its arguments and options, every exit code."""  # noqa: INP001 see generate.py

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import typer

from docs.reference.from_code.attributes import attributes, cell, class_words, code, one_line
from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.main import app

HEAD = """\
# Commands

`jobledger COMMAND --help` says the same. An [exit code](exit-codes.md) means the same for all of
them. Options come before the environment, the environment before the defaults
([settings](settings.md)).
"""

GLOBAL = frozenset({"--help", "--install-completion", "--show-completion", "--version"})


def commands() -> dict[str, Any]:
    """Return every command by the words that call it; groups are left out."""
    return dict(_walk("jobledger", typer.main.get_command(app)))


def cli_page() -> str:
    """Return the page of the commands."""
    listed = (line for name, command in commands().items() for line in _command(name, command))
    return "\n".join((HEAD, *listed))


def exit_codes_page() -> str:
    """Return the page of the exit codes."""
    return "\n".join(("# Exit codes\n", f"{class_words(ExitCode)}\n", *_codes()))


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 typer's own command classes are private
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    context = command.make_context(name, [], resilient_parsing=True)
    for word in command.list_commands(context):
        yield from _walk(f"{name} {word}", command.get_command(context, word))


def _command(name: str, command: Any) -> Iterator[str]:  # noqa: ANN401 see above
    yield f"## {name}\n"
    yield f"{one_line(command.help)}\n"
    shown = [item for item in command.params if not GLOBAL & set(item.opts)]
    if not shown:
        return
    yield "| argument or option | default | meaning |"
    yield "|---|---|---|"
    for item in shown:
        yield f"| {_names(item)} | {_default(item)} | {_meaning(item)} |"
    yield ""


def _names(item: Any) -> str:  # noqa: ANN401 see above
    is_option = item.opts[0].startswith("-")
    return ", ".join(f"`{name}`" if is_option else f"`{name.upper()}`" for name in item.opts)


def _default(item: Any) -> str:  # noqa: ANN401 see above
    if item.required:
        return "required"
    if isinstance(item.show_default, str):
        return cell(item.show_default)
    value = item.default.value if isinstance(item.default, Enum) else item.default
    return "" if value in (None, "", False) else code(str(value))


def _meaning(item: Any) -> str:  # noqa: ANN401 see above
    named = ", else ".join(f"`{name}`" for name in environments(item.envvar))
    environment = f" Environment: {named}." if named else ""
    return cell(one_line(item.help)) + environment


def _codes() -> Iterator[str]:
    yield "| code | name | meaning |"
    yield "|---|---|---|"
    words = {member.name: member.words for member in attributes(ExitCode)}
    for member in ExitCode:
        meaning = words[member.name] or "It worked."
        yield f"| {member.value} | {member.name} | {cell(meaning)} |"


def environments(told: str | Sequence[str] | None) -> Sequence[str]:
    """Return the variables that an option is read from, the first that is set."""
    return [told] if isinstance(told, str) else told or ()
