"""The table of commands. Each command's module is loaded only when it is called."""

import signal
import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from jobledger.adapters.cli.streams import drop

COMMANDS = {
    "run": ("jobledger.adapters.cli.running.run", "run"),
    "serve": ("jobledger.adapters.cli.running.serve", "serve"),
    "webhooks": ("jobledger.adapters.cli.running.webhooks", "webhooks"),
    "trainer-status": ("jobledger.adapters.cli.running.trainer_status", "trainer_status"),
    "sandbox": ("jobledger.sandbox.commands.sandbox", "sandbox"),
    "demo": ("jobledger.sandbox.commands.demo", "demo"),
    "apply": ("jobledger.adapters.cli.running.apply", "apply"),
    "submit": ("jobledger.adapters.cli.running.apply", "apply"),
    "get": ("jobledger.adapters.cli.jobs.get", "get"),
    "history": ("jobledger.adapters.cli.story.history", "history"),
    "decisions": ("jobledger.adapters.cli.jobs.decisions", "decisions"),
    "evidence": ("jobledger.adapters.cli.jobs.evidence", "evidence"),
    "explain": ("jobledger.adapters.cli.story.explain", "explain"),
    "trace": ("jobledger.adapters.cli.story.trace", "trace"),
    "replay": ("jobledger.adapters.cli.jobs.replay", "replay"),
    "what-if": ("jobledger.adapters.cli.jobs.what_if", "what_if"),
    "report": ("jobledger.adapters.cli.reporting.report", "report"),
    "export": ("jobledger.adapters.cli.files.export", "export"),
    "import": ("jobledger.adapters.cli.files.import_", "import_"),
    "parquet": ("jobledger.adapters.cli.files.parquet", "parquet"),
    "verify": ("jobledger.adapters.cli.ledger.verify", "verify"),
    "rebuild": ("jobledger.adapters.cli.ledger.rebuild", "rebuild"),
    "recover": ("jobledger.adapters.cli.jobs.recover", "recover"),
    "seal": ("jobledger.adapters.cli.ledger.seal", "app"),
    "archive": ("jobledger.adapters.cli.ledger.archive", "app"),
    "backup": ("jobledger.adapters.cli.ledger.backup", "app"),
    "notify": ("jobledger.adapters.cli.notifying.notify", "app"),
    "db": ("jobledger.adapters.cli.ledger.db", "app"),
    "doctor": ("jobledger.adapters.cli.ledger.doctor", "doctor"),
}
"""By name, in the order of the help: a module, and what in it is the command."""

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
            drop(sys.stdout)
            raise typer.Exit(PIPE_CLOSED) from error

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 see below
        """Return the command that is asked for; where there is none, typer says which are alike.

        It knows those that were loaded, so those that are alike are loaded first.
        """
        if args and args[0] not in COMMANDS:
            for name in get_close_matches(args[0], COMMANDS):
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

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
        import_module(module)


def _loaded(name: str) -> Any:  # noqa: ANN401 see above
    module, attribute = COMMANDS[name]
    found: Any = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        group: Any = typer.main.get_group(found)
        group.name = name
        for command in group.commands.values():
            _take_no_empty_option(command)
        return group
    alone = typer.Typer(add_completion=False)
    alone.command(name, help=SAID_OTHERWISE.get(name))(found)
    return _take_no_empty_option(typer.main.get_command(alone))


def _take_no_empty_option(command: Any) -> Any:  # noqa: ANN401 see above
    """Have a command refuse `--queue "$UNSET"`, which would mean that nothing was asked for."""
    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.callback is None:
            parameter.process_value = partial(_not_empty, parameter, parameter.process_value)
    return command


def _not_empty(parameter: Any, process: Callable[..., Any], ctx: Any, value: Any) -> Any:  # noqa: ANN401 see above
    source = ctx.get_parameter_source(parameter.name)
    given = value if isinstance(value, list | tuple) else (value,)
    if source is not None and source.name == "COMMANDLINE" and "" in given:
        raise typer.BadParameter("it is empty; leave it out", ctx=ctx, param=parameter)
    return process(ctx, value)
