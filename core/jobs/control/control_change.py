"""Control of a job passes from this controller to another, which is recorded, or back."""

from typing import Protocol, TypeVar

from jobledger.core.jobs.events import ControlReleased, ControlTaken
from jobledger.core.values.instants import Instant


class _Shown(Protocol):
    @property
    def at(self) -> Instant: ...


Shown = TypeVar("Shown", bound=_Shown)
"""A kind's event of a status that another controller has written."""
Changed = tuple[ControlReleased | ControlTaken | Shown, ...]


def control_change(
    since: Instant | None, why: str, told: str, at: Instant
) -> tuple[ControlReleased | ControlTaken, ...]:
    """Return that control is taken or released, if that is news.

    `since` and `why` say since when and why the job has been only recorded (None: it is not),
    `told` why it is to be recorded from now on (empty: it is not). That it is recorded for another
    reason than before is no news.
    """
    if since is None and told:
        return (ControlReleased(at=at, why=told),)
    if since is not None and not told:
        return (ControlTaken(at=at, recorded_since=since, recorded_because=why),)
    return ()


def control_and_status(
    changed: tuple[ControlReleased | ControlTaken, ...], shown: Shown, why: str, *, is_news: bool
) -> Changed[Shown]:
    """Return a change of control and what a status shows, in the order in which they hold.

    What the other did last is known before control is taken: the job goes on from there. `why` is
    empty if it is, and `is_news` says whether what is shown is news.
    """
    if not is_news:
        return changed
    return (*changed, shown) if why else (shown, *changed)


def held(shown: Shown, told: str, *, is_news: bool, is_old: bool) -> Changed[Shown]:
    """Return what a job shows that is held; it is let go if another controller is to have it.

    `told` says why it is recorded (empty: it is not). A status of our own that is not ahead of the
    log may be one from before: nothing follows from it.
    """
    status = (shown,) if is_news and (told or not is_old) else ()
    return (ControlReleased(at=shown.at, why=told), *status) if told else status
