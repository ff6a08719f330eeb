"""What a run has to say: settings, figures with units, progress while it goes on."""

import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

PERCENTILES = (("p50", 0.50), ("p99", 0.99), ("max", 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number."""

    name: str
    value: float
    unit: str


@dataclass(slots=True)
class Report:
    """What one claim's measurement has found; also says how far it has come."""

    claim: str
    full: bool
    """Whether the large sizes are asked for."""
    events: int = 0
    """How many events are asked for, where a claim can have any number; 0: as `full` says."""
    jobs: int = 0
    """How many jobs, likewise."""
    settings: dict[str, str] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def setting(self, name: str, value: object) -> None:
        """Take note of something that the figures depend on."""
        self.settings[name] = str(value)

    def figure(self, name: str, value: float, unit: str) -> None:
        """Take note of a number."""
        self.figures.append(Figure(name=name, value=value, unit=unit))

    def percentiles(
        self,
        name: str,
        values: Sequence[float],
        unit: str,
        shares: Sequence[tuple[str, float]] = PERCENTILES,
    ) -> None:
        """Take note of p50, p99 and the largest of some values, or of other shares of them."""
        ordered = sorted(values)
        for label, share in shares if ordered else ():
            at = min(len(ordered) - 1, int(share * len(ordered)))
            self.figure(f"{name} {label}", ordered[at], unit)

    def remark(self, text: str) -> None:
        """Take note of something that a reader of the figures must know."""
        self.remarks.append(text)

    def say(self, text: str) -> None:
        """Say how far it has come."""
        seconds = time.monotonic() - self.began
        sys.stderr.write(f"  [{self.claim} {seconds:5.1f} s] {text}\n")
        sys.stderr.flush()

    def document(self) -> dict[str, object]:
        """Return everything as JSON."""
        return {
            "claim": self.claim,
            "settings": self.settings,
            "figures": [
                {"name": item.name, "value": item.value, "unit": item.unit} for item in self.figures
            ],
            "remarks": self.remarks,
            "seconds": round(time.monotonic() - self.began, 1),
        }

    def markdown(self) -> Iterable[str]:
        """Return everything as it can stand in a document."""
        yield f"### {self.claim}"
        yield ""
        yield "; ".join(f"{name}: {value}" for name, value in self.settings.items()) + "."
        yield ""
        yield "| figure | value |"
        yield "|---|---|"
        for item in self.figures:
            yield f"| {item.name} | {shown(item.value)} {item.unit} |".replace("  |", " |")
        for text in self.remarks:
            yield ""
            yield f"({text})"
        yield ""

    def lines(self) -> Iterable[str]:
        """Return everything as lines of text."""
        yield f"== {self.claim}"
        for name, value in self.settings.items():
            yield f"   {name}: {value}"
        width = max((len(item.name) for item in self.figures), default=0)
        for item in self.figures:
            yield f"   {item.name:<{width}}  {shown(item.value):>10} {item.unit}"
        for text in self.remarks:
            yield f"   ({text})"


def shown(value: float) -> str:
    """Return a number with three digits that mean something, or all of a whole one."""
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"
