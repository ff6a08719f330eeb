"""Whether users were shown every phase: what one process writes follows what the log says."""

from collections.abc import Iterable
from dataclasses import dataclass, field


class Violation(BaseException):
    """An invariant does not hold. No `except Exception` of the service may swallow it."""


def require(holds: bool, sentence: str) -> None:
    """Object unless something holds."""
    if not holds:
        raise Violation(sentence)


@dataclass(slots=True)
class Follower:
    """The phases (or milestones) of one job, and how far each process has shown them."""

    phases: list[str] = field(default_factory=list)
    """One after the other, but for the empty one."""
    actor: str = ""
    """Who wrote last."""
    cursors: dict[str, frozenset[int]] = field(default_factory=dict)
    """Process -> where in `phases` what it wrote last can stand."""

    def note(self, phase: str, actor: str) -> None:
        """Take note of the phase after an event, and of who appended it."""
        if phase and self.phases[-1:] != [phase]:
            self.phases.append(phase)
        if actor != self.actor:
            self.cursors.clear()
            self.actor = actor

    def set_back(self, phases: Iterable[str]) -> None:
        """Go back to the phases of what the log still has; each process may go on from any.

        One that has noticed nothing still owes its users what came after what it wrote last.
        """
        self.phases.clear()
        self.cursors.clear()
        for phase in phases:
            self.note(phase, "")

    def resumed(self, actor: str) -> None:
        """Take note that a process begins anew with the job: it owes the newest status only.

        So it does once a job is held no more: what was taken over was shown by others.
        """
        self.cursors.pop(actor, None)

    def follow(self, actor: str, name: str, phase: str) -> None:
        """Object if a process shows a phase and has left out what came before it."""
        known = self.cursors.get(actor)
        found = frozenset(
            index
            for index, name_of in enumerate(self.phases)
            if name_of == phase and (known is None or not known.isdisjoint((index, index - 1)))
        )
        if not found:
            raise Violation(
                f"{actor} shows {phase} of {name} and leaves out what came before it: "
                f"{self.phases}, at {sorted(known or ())}"
            )
        self.cursors[actor] = found
