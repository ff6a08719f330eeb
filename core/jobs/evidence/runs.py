"""Tells which run of a container the present and the previous log are of.

Source: Kubernetes, ContainerStatus: `restartCount` counts the starts that have happened after the
first, `lastState` is how the run before the present one ended; of a container that waits for its
next start it is how the last one did.
"""

from enum import Enum, auto

from jobledger.core.jobs.evidence.evidence import ContainerEnd
from jobledger.core.jobs.evidence.pods import container_statuses
from jobledger.core.values.documents import Json, Manifest, child, number, text
from jobledger.core.values.instants import parse_rfc3339


class RunNow(Enum):
    """Which log a run's is by now."""

    PRESENT = auto()
    PREVIOUS = auto()
    GONE = auto()
    """Other runs have come after it: the logs that are left are theirs."""


def run_now(run: ContainerEnd, pod: Manifest) -> RunNow:
    """Return which log that of a run is, by what its Pod shows now.

    Args:
        run: of a container, as an earlier status of the Pod told of it.
        pod: as it is now; where it says nothing of the container, nothing has changed.
    """
    as_told = RunNow.PREVIOUS if run.previous else RunNow.PRESENT
    statuses = container_statuses(child(pod, "status"))
    now = next((one for one in statuses if text(one, "name") == run.name), None)
    if now is None or run.state != "terminated":
        return as_told
    starts = (number(now, "restartCount") or 0) - run.restarts
    if run.previous:
        return RunNow.PREVIOUS if _is_last(run, now, starts) else RunNow.GONE
    waits = bool(child(now, "state", "waiting"))
    if starts == 0:
        return RunNow.PREVIOUS if waits else RunNow.PRESENT
    return RunNow.PREVIOUS if starts == 1 and not waits else RunNow.GONE


def _is_last(run: ContainerEnd, now: Json, starts: int) -> bool:
    """Return whether a run that was the previous one still is."""
    ended = parse_rfc3339(text(now, "lastState", "terminated", "finishedAt"))
    began = parse_rfc3339(text(now, "lastState", "terminated", "startedAt"))
    if run.ended_at is None:
        return starts == 0
    return (began, ended) == (run.started_at, run.ended_at)
