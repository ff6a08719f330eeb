"""Inside a controller's process: note every step, and die by SIGKILL at those that were ordered.

The adapters of the wiring are found by the ports that they implement, and their methods wrapped;
the product knows nothing of it.
"""

import functools
import inspect
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

from jobledger.adapters import ledger_wiring, wiring
from tests.support.effectful_steps import methods, points, ports, steps

Moment = Literal["before", "after"]
MOMENTS: tuple[Moment, ...] = ("before", "after")

ORDER, JOURNAL = "order", "journal"
_BRIEFLY = 0.05
"""Seconds between two looks whether a process that has killed itself is dead."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """Where to die: at the n-th time that a point is passed after the order was given."""

    point: str
    moment: Moment
    hit: int = 1

    def __str__(self) -> str:
        """Return it as a reader names it."""
        return f"{self.moment} hit {self.hit} of {self.point}"


@dataclass(frozen=True)
class Passage:
    """A step that was begun (before) or had succeeded (after)."""

    moment: Moment
    points: tuple[str, ...]
    deadly: bool


def give(directory: Path, *orders: Order) -> None:
    """Order the controllers of this directory to die; each order is followed once at most."""
    _write(directory, [asdict(order) for order in orders])


def _write(directory: Path, orders: Sequence[Mapping[str, Any]]) -> None:
    file = directory / f"{ORDER}.new"
    file.write_text(json.dumps(orders))
    file.rename(directory / ORDER)


def withdraw(directory: Path) -> None:
    """Take back the orders that nobody has followed."""
    (directory / ORDER).unlink(missing_ok=True)


def journal(directory: Path) -> list[Passage]:
    """Return every passage of the controllers of this directory."""
    file = directory / JOURNAL
    whole = file.read_text().rpartition("\n")[0] if file.exists() else ""  # the rest is written now
    found = [json.loads(line) for line in whole.splitlines()]
    return [Passage(item["moment"], tuple(item["points"]), item["deadly"]) for item in found]


class Trap:
    """What the wrapped methods tell."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._orders: list[dict[str, Any]] = []
        self._given = 0
        self._hits: Counter[int] = Counter()
        """By the place of an order: how often its point was passed."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._journal = os.open(directory / JOURNAL, flags, 0o600)

    def around(self, call: str, true: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that does as `true`, and tells."""

        @functools.wraps(true)
        def step(adapter: object, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 any method's
            found = points(call, args, kwargs)
            self._pass("before", found)
            result = true(adapter, *args, **kwargs)
            self._pass("after", found)
            return result

        return step

    def _pass(self, moment: Moment, found: list[str]) -> None:
        with self._lock:
            followed = self._followed(moment, found)
            line = {"moment": moment, "points": found, "deadly": followed is not None}
            os.write(self._journal, f"{json.dumps(line)}\n".encode())
            if followed is None:
                return
            del self._orders[followed]
            _write(self._directory, self._orders)
            os.kill(os.getpid(), signal.SIGKILL)
            while True:  # nothing may be done while the signal is on its way
                time.sleep(_BRIEFLY)

    def _followed(self, moment: Moment, found: list[str]) -> int | None:
        """Return the place of the order that says to die here; None if there is none."""
        self._read_orders()
        for place, order in enumerate(self._orders):
            if order["moment"] == moment and order["point"] in found:
                self._hits[place] += 1
                if self._hits[place] == order["hit"]:
                    return place
        return None

    def _read_orders(self) -> None:
        try:
            given = (self._directory / ORDER).stat().st_mtime_ns
            if given != self._given:
                self._orders = json.loads((self._directory / ORDER).read_text())
                self._given, self._hits = given, Counter()
        except FileNotFoundError:  # none was given, or it was taken back just now
            self._orders, self._given = [], 0


def set_up(directory: Path) -> None:
    """Wrap every step of every adapter of the wiring, for the rest of this process."""
    trap, wanted = Trap(directory), steps()
    for name, port in ports().items():
        for method in methods(port):
            call = f"{name}.{method}"
            if call in wanted:
                adapter = _adapter_of(port)
                setattr(adapter, method, trap.around(call, getattr(adapter, method)))


def _adapter_of(port: type) -> type:
    """Return the one class of the wiring that has all methods of a port, not what derives of it."""
    candidates = [
        item
        for item in {**vars(wiring), **vars(ledger_wiring)}.values()
        if inspect.isclass(item) and all(callable(getattr(item, m, None)) for m in methods(port))
    ]
    found = [one for one in candidates if not any(base in candidates for base in one.__mro__[1:])]
    assert len(found) == 1, f"{port.__name__} is implemented in the wiring by {found}"
    return cast("type", found[0])
