"""Compares the clocks by which jobs are judged: ours, the database's and the API server's.

Instants of all three meet in a deadline. While they are apart by more than `APART_MAX` nothing is
carried out that would end a job or delete what it has; what is due then waits, and is told once
they agree. Where two of them agree and it is ours that is off, what happens meanwhile is written
down by their time (decision 0082): deadlines that follow from it are right once ours is.
"""

import math
from collections.abc import Callable
from datetime import timedelta

from jobledger.adapters.telemetry.clock import SteadyClock
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import JobledgerError
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

APART_MAX = timedelta(seconds=30)
"""So far apart two clocks may be; an answer takes its time, and a header tells whole seconds."""

LED_WITHIN = timedelta(seconds=2)
"""So far from the others' time is ours left when it follows them: a header tells whole seconds."""

GOES_ON = frozenset({DecisionKind.RETRY, DecisionKind.EFFECT_RETRY, DecisionKind.EVIDENCE})
"""What may be carried out whatever the clocks say: it ends no job."""

NOT_COMPARED = "they have not been compared yet"
"""Why things wait at the start."""

Told = Callable[[], "Instant | None"]
"""Asks a clock; None: it does not say."""


class Clocks:
    """Compares them when asked to. Safe from any thread."""

    def __init__(
        self,
        own: SteadyClock,
        others: dict[str, Told],
        agree: Callable[[], None] = lambda: None,
    ) -> None:
        """Take our clock, the others by their names, and whom to have look anew.

        `agree` is called once the clocks agree again, and when ours follows the others.
        """
        self._own, self._others = own, others
        self.agree = agree
        self._known: dict[str, timedelta] = {}
        """How far each other clock was ahead of ours when it was asked last."""
        self._trouble = NOT_COMPARED
        self._told_step = timedelta()
        self.is_ours_off = False
        """Whether it is this machine's clock that is off: the others agree with each other."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return what the other clocks are called."""
        return tuple(self._others)

    @property
    def trouble(self) -> str:
        """Return how they are apart; empty while they agree, as far as any could be asked."""
        return self._trouble

    def holds(self, row: DecisionRow) -> bool:
        """Return whether a due decision has to wait until the clocks agree."""
        return self._trouble != "" and DecisionKind(row.kind) not in GOES_ON

    def ahead_of(self, name: str) -> float:
        """Return how many seconds this machine's clock is ahead of another; NaN: nobody knows."""
        off = self._known.get(name)
        return math.nan if off is None else (self._own.stepped() - off).total_seconds()

    def notes(self) -> list[str]:
        """Return what somebody who looks after the machine should know."""
        told = []
        if self._trouble:
            meanwhile = "; events are dated by the other two" if self._own.lead else ""
            told.append(
                f"the clocks disagree: {self._trouble}; what would end a job or delete what it "
                f"has waits until they agree{meanwhile}. Synchronise them (NTP)"
            )
        elif step := self._own.stepped():
            told.append(
                f"the clock of this machine was set by {step.total_seconds():+.0f} s; it is not "
                "followed as long as nobody agrees with it. Synchronise it (NTP)"
            )
        return told

    def compare(self) -> None:
        """Ask the others; carried out every few seconds."""
        for name, told in self._others.items():
            off = self._off(told)
            if off is not None:  # else it is as far off as it was
                self._known[name] = off
        self._judge_step()
        known = self._known
        found = [
            f"the {name}'s is {off.total_seconds():+.0f} s from this one"
            for name, off in known.items()
            if abs(off) > APART_MAX
        ]
        self.is_ours_off = 1 < len(known) == len(found) and (
            max(known.values()) - min(known.values()) <= APART_MAX
        )
        self._follow()
        before, self._trouble = self._trouble, " and ".join(found)
        if self._trouble and before in ("", NOT_COMPARED):
            log.error("clocks_disagree", because=self._trouble, is_ours_off=self.is_ours_off)
        if before and not self._trouble:
            log.info("clocks_agree")
            self.agree()

    def _judge_step(self) -> None:
        """Follow the machine's clock where it was set and the others agree; say it once if not."""
        step, known = self._own.stepped(), self._known
        is_right = bool(step and known) and all(
            abs(off - step) <= APART_MAX for off in known.values()
        )
        if abs(step - self._told_step) > APART_MAX and step:
            log.warning("clock_set", by_seconds=round(step.total_seconds()), is_followed=is_right)
        self._told_step = step
        if is_right:
            self._own.believe()  # it was wrong before, or the machine had stood still
            self._known = {name: off - step for name, off in known.items()}
            self._told_step = timedelta()

    def _follow(self) -> None:
        """Let ours tell the time of the others while it is the one that is off."""
        lead = timedelta()
        if self.is_ours_off:
            lead = sum(self._known.values(), timedelta()) / len(self._known)
        before = self._own.lead
        if abs(lead - before) > LED_WITHIN or (before and not lead):
            self._own.lead = lead
            self.agree()  # what falls due does so at another moment

    def _off(self, told: Told) -> timedelta | None:
        """Return how far another clock is ahead of ours; None if it cannot be asked."""
        before = self._own.unled()
        try:
            theirs = told()
        except JobledgerError:
            return None
        return None if theirs is None else theirs - (before + (self._own.unled() - before) / 2)
