"""Control of a job passes from this controller to another, which is recorded, or back."""

from jobledger.core.jobs.events import ControlReleased, ControlTaken
from jobledger.core.values.instants import Instant


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
