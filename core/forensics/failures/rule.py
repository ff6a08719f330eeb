"""The data type of a failure rule: a class, its signs, and the words that explain it."""

from dataclasses import dataclass

from jobledger.core.jobs.history.signs import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Clue:
    """A sign that must be found."""

    sources: tuple[Source, ...]
    """The first is believed before the others."""
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRule:
    """One class of failures."""

    name: str
    """For machines: part of the JSON output and of the API."""
    because: str
    """For people: completes "failed because …"."""
    advice: str
    """What people usually do about it."""
    tests: tuple[Clue, ...]
    before_running: bool = False
    """It explains only attempts that did not get to run: later the same sign is an episode."""
    general: bool = False
    """Its signs say no more than that something failed: what to quote is looked for beside them."""
    telling: str = ""
    """Of several signs, those in which this pattern is found say more; empty: none does."""


def clue(pattern: str, *sources: Source) -> Clue:
    """Return the test whether a pattern is found in one of the sources."""
    return Clue(sources=sources, pattern=pattern)
