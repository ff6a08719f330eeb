"""Shows that Postgres is working on a question, on standard error and in a terminal only."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from jobledger.adapters.cli.output import errors


@contextmanager
def waiting(what: str, limit_seconds: int) -> Iterator[None]:
    """Show what is waited for, for how long already, and how long it may take at most."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TextColumn(f"of at most {limit_seconds} s"),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    ) as progress:
        progress.add_task(f"asking for {what}", total=None)
        yield
