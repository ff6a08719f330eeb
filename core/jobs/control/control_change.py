"""Control of a job passes from this controller to another, which is recorded, or back."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from jobledger.core.jobs.control.lost_history import behind_by_status
from jobledger.core.jobs.events import ControlReleased, ControlTaken, LedgerBehindFound
from jobledger.core.jobs.evolve.shared_state import SharedRecorded, SharedState
from jobledger.core.jobs.manifest.shared_manifest import SharedManifestSeen

State = TypeVar("State", bound=SharedState)
Look = TypeVar("Look", bound=SharedManifestSeen)
Shown = TypeVar("Shown")
"""A kind's event of a status that another controller has written."""

Change: TypeAlias = ControlReleased | ControlTaken | LedgerBehindFound | Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRules(Generic[State, Look, Shown]):
    """What is different about the control of one kind of job."""

    no_status: object
    """The status of an object that shows none."""
    shown: Callable[[Look], Shown]
    signs: Callable[[State, Look], Iterable[str]]
    """What a status tells that the log does not know."""
    is_final: Callable[[State], bool]
    shows_own: Callable[[State, Look], bool]
    """Whether a status shows what was decided here, and nothing that another has done."""


def control_of(
    rules: ControlRules[State, Look, Shown], state: State, told: Look
) -> tuple[Change[Shown], ...]:
    """Return who decides about the job from now on, and what others say of it; if that is news."""
    recorded = state.recorded
    if recorded is not None:
        if recorded.behind:
            return _held(rules, state, recorded, told)
        return _recorded(rules, recorded, told)
    if not rules.is_final(state) and (behind := behind_by_status(told, rules.signs(state, told))):
        return *behind, rules.shown(told)
    if not told.recorded or (told.in_between and rules.shows_own(state, told)):
        return ()
    released = ControlReleased(at=told.at, why=told.recorded)
    return (released,) if told.status == rules.no_status else (released, rules.shown(told))


def _held(
    rules: ControlRules[State, Look, Shown], state: State, recorded: SharedRecorded, told: Look
) -> tuple[Change[Shown], ...]:
    """Return what a job shows that is held; it is let go if another controller is to have it.

    A status of our own that is not ahead of the log may be one from before: nothing follows from
    it.
    """
    is_news = told.status not in (recorded.shown, rules.no_status)
    released = (ControlReleased(at=told.at, why=told.recorded),) if told.recorded else ()
    if is_news and not told.recorded:
        is_news = not told.written_here or any(True for _ in rules.signs(state, told))
    return (*released, rules.shown(told)) if is_news else released


def _recorded(
    rules: ControlRules[State, Look, Shown], recorded: SharedRecorded, told: Look
) -> tuple[Change[Shown], ...]:
    """Return what a recorded job shows, and that control is taken if it is to be.

    What the other did last is known before control is taken: the job goes on from there. That it
    is recorded for another reason than before is no news.
    """
    is_over = not told.recorded and told.spec.is_ours
    before = recorded.shown if recorded.shown is not None else rules.no_status
    is_lost = is_over and told.status == rules.no_status
    shown = () if is_lost or told.status == before else (rules.shown(told),)
    if not is_over:
        return shown
    taken = ControlTaken(at=told.at, recorded_since=recorded.since, recorded_because=recorded.why)
    return *shown, taken
