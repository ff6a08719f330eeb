"""A sentence of an account, with the events that it rests on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One statement, and what it rests on."""

    text: str
    versions: tuple[int, ...]
    """The events that say so; never empty."""
    evidence: tuple[str, ...] = ()
    """Digests of the evidence that says so."""
