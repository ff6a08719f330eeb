"""The fields of a job's object that show its controller, and whether the job has ended."""

from collections.abc import Callable
from dataclasses import dataclass

from jobledger.core.values.documents import Manifest, items, text
from jobledger.core.values.instants import Instant, parse_rfc3339

ENDED = frozenset({"Complete", "Failed"})
"""The final phases of a RayJob; the final conditions of any other kind of job."""


def has_final_condition(manifest: Manifest) -> bool:
    """Return whether a final condition of a job is true."""
    return bool(_final_conditions(manifest))


def final_condition_at(manifest: Manifest) -> Instant | None:
    """Return since when the last of its final conditions is true; None if it does not say."""
    found = [parse_rfc3339(told) for told in _final_conditions(manifest)]
    return max((one for one in found if one is not None), default=None)


def _final_conditions(manifest: Manifest) -> list[str]:
    """Return since when each final condition of a job is true."""
    return [
        text(item, "lastTransitionTime")
        for item in items(manifest, "status", "conditions")
        if text(item, "type") in ENDED and text(item, "status") == "True"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerFields:
    """Where the objects of a kind of job show who controls them."""

    driving: frozenset[str]
    """What only the controller of a job writes into its status, as `f:name`."""
    named: str = ""
    """Value of spec.managedBy that names this controller; empty: no value does."""
    has_ended: Callable[[Manifest], bool] = has_final_condition
    """Whether the status of a job shows that it has ended."""
    ended_at: Callable[[Manifest], Instant | None] = final_condition_at
    """When a job ended, as its status has it; None if it does not say."""

    def names_us(self, managed_by: str) -> bool:
        """Return whether a job with this spec.managedBy names this controller."""
        return self.named != "" and managed_by == self.named
