"""Tells what else failed of the same cause in the month before: how often, where, since when.

It is told of facts that were computed for reports, and of no events, so nothing is cited.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from jobledger.core.jobs.failures.rules import RULES
from jobledger.core.values.counted import counted
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant, rfc3339
from jobledger.core.values.visible_text import one_line

DAYS = 30
"""So far back it is looked."""

ROWS_MAX = 1000
"""So many failures are looked through, the youngest ones."""

_SPECIFIC = frozenset(rule.name for rule in RULES if not rule.general)
"""Causes of which two failures are alike whatever ran; of the others only runs of one family are:
that two programs failed says nothing."""

_RUN_MARKS = re.compile(r"(-([0-9a-z]*[0-9][0-9a-z]*|[bcdfghjklmnpqrstvwxz2456789]{5}))+$")
"""What tells the runs of a family apart, as `report --by family` has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureSeen:
    """A failure, as the facts have it."""

    stream_id: StreamId
    namespace: str
    name: str
    failed_at: Instant
    cause: str
    node: str
    """Empty: it is not known."""
    image: str
    """Empty: it is not known."""

    @property
    def family(self) -> tuple[str, str]:
        """Return namespace and name without what tells runs apart."""
        return self.namespace, _RUN_MARKS.sub("", self.name)


class Worked(NamedTuple):
    """Jobs of its namespace that succeeded in the month, before the first failure with its image.

    Of the same kind.
    """

    with_others: int = 0
    with_it: int = 0
    """With the same image: what came later did not begin with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """What else failed of the same cause in the month before a failure."""

    cause: str
    days: int
    failures: int
    """Of other jobs: those of the same are told with it. The youngest `ROWS_MAX` at most."""
    jobs: int
    """Jobs that they are of."""
    node: str
    failures_on_node: int
    image: str
    first_with_image_at: Instant | None
    """When the first of them came about in this namespace, if all were with this image and nothing
    had worked with it, but with others."""
    worked_before: int
    """Jobs of this namespace that succeeded with other images in the month, until then."""
    sentences: tuple[str, ...]


def similar(own: FailureSeen, seen: Sequence[FailureSeen], worked: Worked, told_as: str) -> Similar:
    """Return what is alike.

    Facts are computed without the kept logs, so they may know another cause than `explain` tells.
    Then nothing is alike, but runs of the same family of which no more is known either.

    Args:
        own: the failure that is asked about.
        seen: failures of its cause in the month until then, itself included.
        worked: what succeeded before the first of these with its image.
        told_as: the cause that `explain` tells.
    """
    may_be_told = own.cause == told_as or own.cause not in _SPECIFIC
    others = [
        one
        for one in seen
        if one.stream_id != own.stream_id
        and may_be_told
        and (own.cause in _SPECIFIC or one.family == own.family)
    ]
    here = [one for one in others if own.node and one.node == own.node]
    beside = [one for one in others if one.namespace == own.namespace and one.image]
    is_of_image = own.image != "" and all(one.image == own.image for one in beside)
    began_with_image = is_of_image and worked.with_others > 0 and not worked.with_it
    began = min((one.failed_at for one in beside), default=own.failed_at)
    found = Similar(
        cause=own.cause,
        days=DAYS,
        failures=len(others),
        jobs=len({one.stream_id for one in others}),
        node=own.node,
        failures_on_node=len(here),
        image=own.image,
        first_with_image_at=began if began_with_image else None,
        worked_before=worked.with_others if began_with_image else 0,
        sentences=(),
    )
    return _told(found, others, here, told_as)


def _told(
    found: Similar, others: Sequence[FailureSeen], here: Sequence[FailureSeen], told_as: str
) -> Similar:
    if not others:
        return found
    last = max(others, key=lambda one: one.failed_at)
    whose = "" if found.cause in _SPECIFIC else " in runs of it"
    times = {1: "once", 2: "twice"}.get(found.failures, f"{found.failures} times")
    jobs = counted(found.jobs, "job")
    last_one = f"{last.namespace}/{last.name} at {rfc3339(last.failed_at)}"
    cause = found.cause
    if cause != told_as:
        cause += " (as reports have it, without the kept logs)"
    begin = f"In the {counted(found.days, 'day')} before, {cause} came {times}{whose}, in {jobs}"
    said = [f"{begin}; last in {last_one}."]
    if here:
        known = sum(one.node != "" for one in others) + 1
        count = _ordinal(len(here) + 1)
        said.append(f"It is the {count} time on node {found.node}, of {known} whose node is known.")
    if found.first_with_image_at is not None:
        worked = counted(found.worked_before, "job")
        said.append(
            f"In this namespace it began with image {found.image} at "
            f"{rfc3339(found.first_with_image_at)}; {worked} had worked with others until then."
        )
    return replace(found, sentences=tuple(one_line(one) for one in said))


_TEENS = (11, 12, 13)


def _ordinal(number: int) -> str:
    if number % 100 in _TEENS:
        return f"{number}th"
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{endings.get(number % 10, 'th')}"
