"""Where two lives differ, once what docs/differences.md explains is taken away."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from jobledger.core.rayjob.manifests.gang_scheduling import VOLCANO
from tests.lives.told import Told
from tests.upstream.rayjob_cases import Case
from tests.upstream.rayjob_known import KNOWN
from tests.upstream.rayjobs import Built, between

OURS_ALONE = frozenset(
    {
        *("AttemptFailed", "JobDeadlineExceeded", "JobSuspended", "JobResumed"),
        *("SuspensionPostponed", "RayClusterLost", "RayHeadPodLost", "RayClusterKept"),
        *("OrphanRayCluster", "StatusCheckFailed", "BatchSchedulerCleanedUp"),
    }
)
"""Reasons of Kubernetes Events that only we tell; the last between attempts as well as upstream's.
"""

OF_OLD_CACHES = frozenset(
    {
        "FailedToCleanupBatchScheduler",
        *(
            f"FailedTo{verb}{kind}"
            for verb in ("Create", "Delete", "Update")
            for kind in ("RayCluster", "RayJobSubmitter", "Service")
        ),
    }
)
"""Upstream tells of these where its cache is behind: it tries again what is done."""

TOLD_ONCE = frozenset({"UpdatedRayCluster"})
"""Reasons of Kubernetes Events that upstream tells again on every change."""

TOLD_AGAIN = frozenset({"DeletedRayCluster", "DeletedRayJobSubmitter"})
"""Upstream deletes again, and tells it, what its cache does not show to be going yet."""

OF_THE_HEAD = frozenset({"jobStatus", "message", "rayJobInfo"})

SINCE_1_7 = ("kuberay-1-7-waits", "kuberay-1-7-submitter-labels", "kuberay-1-7-requests")
"""Lines of docs/differences.md by which what is made in each life is another."""

SILENT = ("jobStatusCheckFailureStartTime",)
"""Fields that 1.7 brought."""


def phases_of(told: Told) -> list[dict[str, Any]]:
    """Return the phases that any client sees: the empty one lasts for a moment only."""
    return [one for one in told.phases if one["jobDeploymentStatus"]]


def differences(theirs: Told, ours: Told) -> list[str]:
    """Return where a life went another way with us."""
    phases = phases_of(theirs)
    last = phases[-1]["jobDeploymentStatus"] if phases else ""
    return [
        *_in_phases(phases, phases_of(ours)),
        *_at_end(theirs.end, ours.end, last),
        *_stopped(theirs, ours),
    ]


def with_lost_events(theirs: Told, ours: Told) -> Told:
    """Return theirs without the Kubernetes Events that ours lost when it was killed.

    They wait in memory, as upstream's do.
    """
    end = dict(theirs.end)
    for key in ("events", "notes"):
        heard = ours.end.get(key) or {}
        told = (theirs.end.get(key) or {}).items()
        end[key] = {one: min(count, heard[one]) for one, count in told if one in heard}
    return replace(theirs, end=end)


def _stopped(theirs: Told, ours: Told) -> Iterator[str]:
    is_refused = theirs.stopped_at.startswith("refused") and theirs.stopped_at == ours.stopped_at
    if (theirs.stopped_at or ours.stopped_at) and not is_refused:
        yield f"stopped: {theirs.stopped_at!r}, ours {ours.stopped_at!r}"


def _in_phases(theirs: list[dict[str, Any]], ours: list[dict[str, Any]]) -> Iterator[str]:
    theirs = _without_detours(theirs, ours)
    names = [[one["jobDeploymentStatus"] for one in each] for each in (theirs, ours)]
    if names[0] != names[1]:
        yield f"phases: {' > '.join(names[0])}, ours {' > '.join(names[1])}"
        return
    for number, (one, other) in enumerate(zip(theirs, ours, strict=True), 1):
        between = number < len(ours) and one["jobStatus"] != other["jobStatus"]
        for key in sorted({*one, *other}):
            before, after = one.get(key) or "", other.get(key) or ""
            if key in OF_THE_HEAD and between:
                continue  # one asked the head once more before it went on
            if key in SILENT or before == after:
                continue
            if key == "rayClusterStatus" and (not one["jobStatus"] or before == "{}"):
                continue  # they copy it with each answer of the head, we at once
            if key == "message" and not before and not one["jobStatus"]:
                continue  # ours says what is waited for
            if key == "jobId" and one["jobDeploymentStatus"] == "Waiting" and not before:
                continue  # ours has it with the phase before
            yield f"{one['jobDeploymentStatus']}.{key}: {before!r}, ours {after!r}"


def _without_detours(
    theirs: list[dict[str, Any]], ours: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Take away Initializing and Suspending of what is suspended before it began."""
    kept = list(theirs)
    for index in range(len(ours)):
        here = [one["jobDeploymentStatus"] for one in kept[index : index + 3]]
        if ours[index]["jobDeploymentStatus"] == "Suspended" and here == [
            "Initializing",
            "Suspending",
            "Suspended",
        ]:
            del kept[index : index + 2]
    return kept


def _at_end(theirs: dict[str, Any], ours: dict[str, Any], last: str) -> Iterator[str]:
    for key, left in theirs.items():
        before, after = left, ours[key]
        if key == "events":
            before = sorted(set(before) - OURS_ALONE - (OF_OLD_CACHES - set(after)))
            after = sorted(set(after) - OURS_ALONE)
        if key == "notes":
            yield from _in_notes(before, after)
            continue
        if key == "made":
            yield from _in_made(before, after)
            continue
        if key == "pod groups" and last in ("Retrying", "Suspending", "Suspended"):
            continue  # upstream's ask for as much as ever
        if key == "asked":  # upstream stops again on each pass
            before, after = (one | {"stops": min(one["stops"], 1)} for one in (before, after))
        if before != after:
            yield f"{key}: {before}, ours {after}"


def _in_notes(theirs: dict[str, int], ours: dict[str, int]) -> Iterator[str]:
    """Yield Kubernetes Events that differ in type, words or, of what was done, how often."""
    for note in sorted({*theirs, *ours}):
        reason, kind, _ = note.split(" ", 2)
        before, after = theirs.get(note, 0), ours.get(note, 0)
        if reason in OURS_ALONE or (reason in OF_OLD_CACHES and not after):
            continue
        if reason in TOLD_ONCE or kind == "Warning":
            before, after = min(before, 1), min(after, 1)
        if reason in TOLD_AGAIN and after:
            before = min(before, after)
        if before != after:
            yield f"told {before} times, ours {after}: {note}"


def _in_made(theirs: dict[str, Any], ours: dict[str, Any]) -> Iterator[str]:
    """Yield where the objects differ that were made, and what was handed in."""
    scheduler = VOLCANO if any(name.startswith("PodGroup/") for name in theirs) else ""
    yield from between(*followed(Built(made=theirs), Built(made=ours), scheduler))


def followed(theirs: Built, ours: Built, scheduler: str = "") -> tuple[Built, Built]:
    """Return what was made without what the release that is followed makes otherwise."""
    for name in SINCE_1_7:
        theirs, ours = KNOWN[name](Case(id="", job={}, scheduler=scheduler), theirs, ours)
    return theirs, ours
