"""Shows the progress of a long command, on standard error and in a terminal only."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress

from jobledger.adapters.cli.output import errors


def progressing() -> Progress:
    """Return bars that leave nothing behind: no line of theirs stands in a log or in a pipe."""
    return Progress(console=errors, transient=True, disable=not errors.is_terminal)


class Counter:
    """A bar that is told how many of how many are done."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress, self._task = progress, progress.add_task(what, total=None)
        self.done = 0

    def __call__(self, done: int, total: int) -> None:
        """Move the bar."""
        self.done = done
        self._progress.update(self._task, completed=done, total=total)


@contextmanager
def counting(what: str) -> Iterator[Counter]:
    """Lend one such bar."""
    with progressing() as progress:
        yield Counter(progress, what)
