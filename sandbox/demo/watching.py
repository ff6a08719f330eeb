"""The live table of the demonstration, like `kubectl get rayjobs -w` with a clock."""

import threading
import time
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from jobledger.core.values.documents import Manifest, number, text
from jobledger.core.values.instants import Instant

COLUMNS = (
    ("SECONDS", 8),
    ("NAME", 18),
    ("JOB STATUS", 12),
    ("DEPLOYMENT STATUS", 19),
    ("RAY CLUSTER NAME", 25),
    ("FAILED", 7),
    ("REASON", 20),
)
STYLES = {
    "Complete": "green",
    "Failed": "red",
    "ValidationFailed": "red",
    "Retrying": "yellow",
    "Suspending": "magenta",
    "Suspended": "magenta",
    "Running": "cyan",
}
FINAL = frozenset({"Complete", "Failed", "ValidationFailed"})


class LiveTable:
    """A listener of a watch that prints each change and remembers what was reached."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begun = time.monotonic()
        self._changed = threading.Condition()
        self._phases: dict[str, str] = {}
        self._clusters: dict[str, set[str]] = {}
        self._shown: dict[str, tuple[str, ...]] = {}

    def header(self) -> None:
        """Print the names of the columns."""
        line = "".join(f"{name:<{width}}" for name, width in COLUMNS)
        self._console.print(Text(line.rstrip(), style="bold"))

    def say(self, words: str, style: str = "bold") -> None:
        """Print a line that is no row."""
        self._console.print(Text(f"{self._seconds():<8}{words}", style=style), soft_wrap=True)

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Print a RayJob if what is shown of it has changed."""
        del at
        name = text(manifest, "metadata", "name")
        phase = text(manifest, "status", "jobDeploymentStatus")
        cells = (
            name,
            text(manifest, "status", "jobStatus"),
            phase,
            text(manifest, "status", "rayClusterName"),
            str(number(manifest, "status", "failed") or 0),
            text(manifest, "status", "reason"),
        )
        with self._changed:
            self._phases[name] = phase
            if cells[3]:
                self._clusters.setdefault(name, set()).add(cells[3])
            self._changed.notify_all()
            if self._shown.get(name) == cells:
                return
            self._shown[name] = cells
        widths = [width for _, width in COLUMNS[1:]]
        line = "".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        row = Text.assemble(
            (f"{self._seconds():<8}", "dim"), (line.rstrip(), STYLES.get(phase, ""))
        )
        self._console.print(row, soft_wrap=True)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Take no note: nothing is deleted here."""

    def synced(self, at: Instant) -> None:
        """Take no note."""

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Take no note: every state is seen again."""

    def phase(self, name: str) -> str:
        """Return the phase of a job, as last seen."""
        return self._phases.get(name, "")

    def ended(self) -> int:
        """Return how many jobs have got where they end."""
        return sum(phase in FINAL for phase in self._phases.values())

    def clusters(self, name: str) -> int:
        """Return how many RayClusters a job has had."""
        return len(self._clusters.get(name, ()))

    def wait_for(self, condition: Callable[[dict[str, str]], bool], seconds: float) -> bool:
        """Wait until the phases by name fulfil a condition; return whether they did in time."""
        with self._changed:
            return self._changed.wait_for(lambda: condition(self._phases), seconds)

    def _seconds(self) -> str:
        return f"{time.monotonic() - self._begun:.1f}"
