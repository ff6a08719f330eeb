"""Compares the clocks by which jobs are judged: ours, the database's and the API server's.

Instants of all three meet in a deadline. While they are apart by more than `APART_MAX` nothing is
carried out that would end a job or delete what it has; what is due then waits, and is told once
they agree.
"""

from collections.abc import Callable
from datetime import timedelta

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.steady_clock import SteadyClock
from jobledger.core.errors import JobledgerError
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

APART_MAX = timedelta(seconds=30)
"""So far apart two clocks may be; an answer takes its time, and a header tells whole seconds."""

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
        """Take our clock, the others by their names, and whom to tell that they agree again."""
        self._own, self._others = own, others
        self.agree = agree
        self._known: dict[str, timedelta] = {}
        """How far each other clock was ahead of ours when it was asked last."""
        self._trouble = NOT_COMPARED
        self.is_ours_off = False
        """Whether it is this machine's clock that is off: the others agree with each other."""

    @property
    def trouble(self) -> str:
        """Return how they are apart; empty while they agree, as far as any could be asked."""
        return self._trouble

    def holds(self, row: DecisionRow) -> bool:
        """Return whether a due decision has to wait until the clocks agree."""
        return self._trouble != "" and DecisionKind(row.kind) not in GOES_ON

    def notes(self) -> list[str]:
        """Return what somebody who looks after the machine should know."""
        told = []
        if self._trouble:
            told.append(
                f"the clocks disagree: {self._trouble}; what would end a job or delete what it "
                "has waits until they agree. Synchronise them (NTP)"
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
        known = self._known
        step = self._own.stepped()
        if step and known and all(abs(off - step) <= APART_MAX for off in known.values()):
            self._own.believe()  # it was wrong before, or the machine had stood still
            known = self._known = {name: off - step for name, off in known.items()}
        found = [
            f"the {name}'s is {off.total_seconds():+.0f} s from this one"
            for name, off in known.items()
            if abs(off) > APART_MAX
        ]
        self.is_ours_off = 1 < len(known) == len(found) and (
            max(known.values()) - min(known.values()) <= APART_MAX
        )
        before, self._trouble = self._trouble, " and ".join(found)
        if self._trouble and before in ("", NOT_COMPARED):
            log.error("clocks_disagree", because=self._trouble)
        if before and not self._trouble:
            log.info("clocks_agree")
            self.agree()

    def _off(self, told: Told) -> timedelta | None:
        """Return how far another clock is ahead of ours; None if it cannot be asked."""
        before = self._own.now()
        try:
            theirs = told()
        except JobledgerError:
            return None
        return None if theirs is None else theirs - (before + (self._own.now() - before) / 2)
