"""Shows the progress of a long command, on standard error and in a terminal only."""

from rich.progress import Progress

from jobledger.adapters.cli.output import errors


def progressing() -> Progress:
    """Return bars that leave nothing behind: no line of theirs stands in a log or in a pipe."""
    return Progress(console=errors, transient=True, disable=not errors.is_terminal)
