"""The command `jobledger`: its subcommands, and the output of errors."""

import errno
import faulthandler
import sys
from importlib import metadata
from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.lazy_commands import LazyCommands, drop_output
from jobledger.adapters.cli.output import errors, exit_code
from jobledger.adapters.interpreter import collect_seldom
from jobledger.core.errors import JobledgerError

UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What ends the writing of a file, standard output too, and names none."""

app = typer.Typer(
    name="jobledger",
    cls=LazyCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(is_asked: bool) -> None:
    if is_asked:
        from jobledger import __commit__  # noqa: PLC0415 who runs a command does not wait for it
        from jobledger.adapters.postgres.schema.version import head  # noqa: PLC0415 the same

        built = f", commit {__commit__}" if __commit__ else ""
        typer.echo(f"jobledger {metadata.version('jobledger')}, schema {head()}{built}")
        raise typer.Exit


@app.callback()
def jobledger(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print version, schema and commit, and exit.",
            callback=_tell_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Runs RayJobs and TrainJobs, and remembers all that happens to them in an append-only log."""


def main() -> None:
    """Run a command; an error of ours is one line and an exit code, never a traceback.

    A fault in the C code of a library, which Python cannot catch, leaves the stack of each thread.
    """
    faulthandler.enable()
    collect_seldom()
    for word in sys.argv[1:]:
        if _unreadable(word):
            errors.print(f"jobledger: {word!a} is not UTF-8", style="red", soft_wrap=True)
            sys.exit(int(ExitCode.USAGE))
    try:
        app(prog_name="jobledger")
    except JobledgerError as error:
        errors.print(f"jobledger: {error}", style="red", soft_wrap=True, highlight=False)
        sys.exit(int(exit_code(error)))
    except OSError as error:
        if error.filename is None and error.errno not in UNWRITABLE:
            raise  # not about a file that somebody named
        where = error.filename or "what is told cannot be written"
        errors.print(
            f"jobledger: {where}: {error.strerror}", style="red", soft_wrap=True, highlight=False
        )
        if error.filename is None:
            drop_output()
        sys.exit(int(ExitCode.MISCONFIGURED))


def _unreadable(word: str) -> bool:
    """Return whether an argument holds bytes that are no characters (surrogates, PEP 383)."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return True
    return False


if __name__ == "__main__":
    main()
