"""Clues to why an attempt of a RayJob failed, event by event."""

from collections.abc import Iterator

from jobledger.core.jobs.history.signs import Clue, Source, exit_clue
from jobledger.core.rayjob.events import lifecycle as rayjob


def clues(event: rayjob.FactEvent | rayjob.LifeEvent) -> Iterator[Clue]:
    """Yield the clues of an event."""
    if isinstance(event, rayjob.FactEvent):
        yield from _of_fact(event)
    elif isinstance(event, rayjob.AttemptFailed | rayjob.FailureNoticed):
        yield Source.REASON, event.reason
        yield Source.MESSAGE, event.message
    elif isinstance(event, rayjob.JobFailed | rayjob.JobCompleted):
        yield Source.REASON, event.reason
    elif isinstance(event, rayjob.ManifestRejected):
        yield Source.MANIFEST, event.message


def _of_fact(event: rayjob.FactEvent) -> Iterator[Clue]:
    if isinstance(event, rayjob.EntrypointObserved):
        if event.status in {"FAILED", "STOPPED"}:
            yield Source.RAY, event.message
            yield Source.RAY, event.error_type
        yield Source.EXIT, exit_clue(event.exit_code)
    elif isinstance(event, rayjob.SubmitterFinished):
        if event.outcome == "Failed":
            yield Source.SUBMITTER, f"{event.reason}: {event.message}"
    elif isinstance(event, rayjob.SidecarFinished):
        if event.outcome == "Failed":
            yield Source.SUBMITTER, event.message
    elif isinstance(event, rayjob.PodsObserved):
        for pod in event.pods:
            yield Source.POD, f"{pod.reason}: {pod.message}" if pod.reason else ""
            yield Source.EXIT, exit_clue(pod.exit_code)
    elif isinstance(event, rayjob.StatusCheckFailed):
        yield Source.SILENCE, event.trouble
    else:
        yield Source.LOSS, _lost(event)


def _lost(event: rayjob.FactEvent) -> str:
    if isinstance(event, rayjob.ClusterVanished):
        return "" if event.asked else "cluster"
    if isinstance(event, rayjob.SubmitterVanished):
        return "" if event.asked else "submitter"
    if isinstance(event, rayjob.EntrypointMissed):
        return "ray job"
    if isinstance(event, rayjob.HeadPodObserved):
        return "head" if event.deleting else ""
    return "head" if isinstance(event, rayjob.HeadPodVanished) else ""
