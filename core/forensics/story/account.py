"""A causal account of a job, and its sentences with the events that they rest on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One statement, and what it rests on."""

    text: str
    versions: tuple[int, ...]
    """The events that say so; never empty."""
    evidence: tuple[str, ...] = ()
    """Digests of the evidence that says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A causal account of a job."""

    outcome: str
    """complete, failed, not valid, deleted, or going on."""
    failure_class: str
    """Cause of the failure that it rests on; empty where nothing failed."""
    failure_group: str
    """The retry group of that cause."""
    advice: str
    sentences: tuple[Sentence, ...]
    logs: tuple[str, ...] = ()
    """Digests of the logs that were kept of the attempt it speaks of, the most telling first."""
