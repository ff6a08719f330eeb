"""The command `jobledger`: its subcommands, and the output of errors."""

import errno
import faulthandler
import signal
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.lazy_commands import LazyCommands
from jobledger.adapters.cli.output import errors, exit_code
from jobledger.adapters.cli.streams import drop, escape_what_is_not_taken, open_what_is_closed
from jobledger.adapters.process.interpreter import collect_seldom
from jobledger.core.errors import JobledgerError

UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What ends the writing of a file, standard output too, and names none."""

INTERRUPTED = 128 + signal.SIGINT
"""What a shell reports of a program that Ctrl-C ended; typer ends with it as well."""

TERMINATED = 128 + signal.SIGTERM
"""The same of one that SIGTERM ended."""

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
    """Runs RayJobs, TrainJobs and Jobs; all that happens to them is kept in an append-only log."""


def main() -> None:
    """Run a command; an error of ours is one line and an exit code, never a traceback.

    Neither is Ctrl-C: whatever it interrupts, the command ends with 130, as shells have it; with
    143 on SIGTERM. Half a file, a directory or a server of its own goes either way. A fault in the
    C code of a library, which Python cannot catch, leaves the stack of each thread.
    """
    open_what_is_closed()
    escape_what_is_not_taken()
    faulthandler.enable()
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    collect_seldom()
    for word in sys.argv[1:]:
        if _unreadable(word):
            _tell(f"{word!a} is not UTF-8")
            sys.exit(int(ExitCode.USAGE))
    try:
        app(prog_name="jobledger")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except JobledgerError as error:
        _tell(str(error))
        sys.exit(int(exit_code(error)))
    except (OSError, SystemError) as error:
        _end_for(error)


def _end_for(error: OSError | SystemError) -> NoReturn:
    """End with what the system says; raise it again if it is not about a file somebody named."""
    named, code = (error.filename, error.errno) if isinstance(error, OSError) else (None, None)
    # Python 3.13 has a SystemError where it loads a library in a directory that is gone.
    if named is None and code in (errno.ENOENT, None) and not _has_place():
        _tell("the directory that it was started in is there no more; change to another one")
        sys.exit(int(ExitCode.MISCONFIGURED))
    if isinstance(error, SystemError) or (named is None and code not in UNWRITABLE):
        raise error
    _tell(f"{named or 'what is told cannot be written'}: {error.strerror}")
    if named is None:
        drop(sys.stdout)
    sys.exit(int(ExitCode.MISCONFIGURED))


def _has_place() -> bool:
    """Return whether the working directory is there; what is named beside it cannot be found."""
    try:
        Path.cwd()
    except OSError:
        return False
    return True


def _tell(why: str) -> None:
    """Say why a command ends; where that cannot be written, its exit code says so alone."""
    try:
        errors.print(f"jobledger: {why}", style="red", soft_wrap=True, highlight=False)
    except OSError:
        drop(sys.stderr)


def _terminate(number: int, frame: object) -> NoReturn:
    """End as at Ctrl-C; a second SIGTERM ends at once."""
    del number, frame
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.exit(TERMINATED)


def _unreadable(word: str) -> bool:
    """Return whether an argument holds bytes that are no characters (surrogates, PEP 383)."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return True
    return False


if __name__ == "__main__":
    main()
