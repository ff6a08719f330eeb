"""Which commands `jobledger` has: each is loaded when it is asked for, not when another is."""

import os
import signal
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

COMMANDS = {
    "run": ("run", "run"),
    "serve": ("serve", "serve"),
    "webhooks": ("webhooks", "webhooks"),
    "trainer-status": ("trainer_status", "trainer_status"),
    "sandbox": ("sandbox", "sandbox"),
    "demo": ("demo", "demo"),
    "apply": ("apply", "apply"),
    "submit": ("apply", "apply"),
    "get": ("get", "get"),
    "history": ("history", "history"),
    "decisions": ("decisions", "decisions"),
    "evidence": ("evidence", "evidence"),
    "explain": ("explain", "explain"),
    "replay": ("replay", "replay"),
    "what-if": ("what_if", "what_if"),
    "report": ("report", "report"),
    "export": ("export", "export"),
    "import": ("import_", "import_"),
    "verify": ("verify", "verify"),
    "rebuild": ("rebuild", "rebuild"),
    "recover": ("recover", "recover"),
    "seal": ("seal", "app"),
    "archive": ("archive", "app"),
    "db": ("db", "app"),
    "doctor": ("doctor", "doctor"),
}
"""By name, in the order of the help: a module of `adapters.cli`, and what in it is the command."""

PIPE_CLOSED = 128 + signal.SIGPIPE
"""What a shell reports of a program that wrote to a pipe nobody reads: `jobledger get | head`."""

SAID_OTHERWISE = {"submit": "The same as apply, for one RayJob."}
"""Help of commands that is not in their docstrings."""


class LazyCommands(TyperGroup):
    """The commands of `COMMANDS`."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 typer's own click is private
        """Run the command; end as a program that SIGPIPE kills if nobody reads what it writes."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()
        except BrokenPipeError as error:
            # What is still in the buffers would fail once more when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from error

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 typer's own click is private
        """Return the names of all commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 see above
        """Return a command, loaded if it was not; None if there is none of that name."""
        del ctx
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = _loaded(cmd_name)
        return self.commands.get(cmd_name)


def load_all() -> None:
    """Load what all commands need, for whoever runs many of them in forks of one process."""
    for module, _ in COMMANDS.values():
        import_module(f"adapters.cli.{module}")


def _loaded(name: str) -> Any:  # noqa: ANN401 see above
    module, attribute = COMMANDS[name]
    found: Any = getattr(import_module(f"adapters.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        group = typer.main.get_group(found)
        group.name = name
        return group
    alone = typer.Typer(add_completion=False)
    alone.command(name, help=SAID_OTHERWISE.get(name))(found)
    return typer.main.get_command(alone)
