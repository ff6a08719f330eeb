"""A causal account of a job, and its sentences with the events that they rest on."""

from dataclasses import dataclass, replace

from jobledger.core.jobs.failures.rules import CAUSES

NO_LOG = "no log of it was kept here; see whether your cluster collects logs elsewhere"
"""Stands in place of the advice to read a log where there is none, and none will come."""


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

    @property
    def has_ended(self) -> bool:
        """Whether it speaks of an end, and its class of the attempt that failed last."""
        return self.outcome in ("complete", "failed")


def without_vain_advice(told: Account) -> Account:
    """Return an account that sends nobody to a log, if none was kept of a job that has ended."""
    rule = CAUSES.get(told.failure_class)
    in_vain = rule is not None and rule.reads_log and not told.logs
    return replace(told, advice=NO_LOG) if in_vain and told.has_ended else told
