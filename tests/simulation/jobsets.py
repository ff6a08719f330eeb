"""JobSets and what runs as them, one thing at a time: what happens next, and what goes wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from jobledger.core.ports.cluster import CONFIGMAPS, JOBSETS, TRAINJOBS
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.instants import rfc3339
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move, Nature

COUNTERS = ("ready", "succeeded", "failed", "active", "suspended")
FOLLOWERS = {"": "active", "suspended": "active", "active": "ready"}


@dataclass
class JobSetNature:
    """The JobSet controller, with the Jobs under it."""

    api: SimulatedApi
    nature: Nature

    def possible(self) -> list[Move]:
        """Return what can happen next."""
        return [*self._of_leaving(), *self._of_jobsets()]

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        return list(self._of_trouble())

    def owed(self) -> list[Move]:
        """Return what somebody does in the end."""
        return []

    def _of_leaving(self) -> Iterator[Move]:
        for resource in (JOBSETS, CONFIGMAPS):
            for item in self.api.all(resource):
                if text(item, "metadata", "deletionTimestamp"):
                    name = text(item, "metadata", "name")
                    let_go = partial(self.nature.let_go, resource, item)
                    yield f"{resource.kind} {name} goes", let_go

    def _of_jobsets(self) -> Iterator[Move]:
        for jobset in self.api.all(JOBSETS):
            name = text(jobset, "metadata", "name")
            state = state_of(jobset)
            if text(jobset, "metadata", "deletionTimestamp"):
                continue
            if ended(jobset):
                if state == "active":
                    yield f"JobSet {name} has wound up", partial(self._show, jobset, "failed")
                continue
            if child(jobset, "spec").get("suspend") is True:
                if state != "suspended":
                    yield f"JobSet {name} is suspended", partial(self._show, jobset, "suspended")
            elif state == "ready":
                end = "Completed" if self.nature.dice.random() < self.nature.success else "Failed"
                yield f"JobSet {name}: {end}", partial(self._end, jobset, end)
            else:
                after = FOLLOWERS[state]
                yield f"JobSet {name} is {after}", partial(self._show, jobset, after)

    def _of_trouble(self) -> Iterator[Move]:
        for jobset in self.api.all(JOBSETS):
            name = text(jobset, "metadata", "name")
            remove = partial(self.nature.remove, JOBSETS, jobset)
            yield f"somebody deletes JobSet {name}", remove
            if not ended(jobset) and state_of(jobset) in ("active", "ready"):
                yield f"JobSet {name} restarts", partial(self._restart, jobset)
                yield f"JobSet {name}: Failed", partial(self._end, jobset, "Failed")
        for held in self.api.all(CONFIGMAPS):
            name = text(held, "metadata", "name")
            yield f"somebody deletes {name}", partial(self.nature.remove, CONFIGMAPS, held)
        for job in self.api.all(TRAINJOBS):
            if status := child(job, "status"):
                name, theirs = text(job, "metadata", "name"), {**status, "conditions": []}
                empty = partial(self.api.overwrite, TRAINJOBS, job, theirs)
                yield f"somebody empties the conditions of {name}", empty

    def _show(self, jobset: Manifest, state: str, **more: Any) -> None:  # noqa: ANN401 any JSON
        found = {"active": ("active",), "ready": ("active", "ready")}.get(state, (state,))
        counts = {name: int(name in found) for name in COUNTERS}
        status = {**child(jobset, "status"), **more}
        status["replicatedJobsStatus"] = [{"name": "node", **counts}]
        metadata = child(jobset, "metadata")
        self.api.replace(JOBSETS, {"metadata": metadata, "status": status}, "status")

    def _restart(self, jobset: Manifest) -> None:
        restarts = number(jobset, "status", "restarts") or 0
        self._show(jobset, "", restarts=restarts + 1)

    def _end(self, jobset: Manifest, end: str) -> None:
        good = end == "Completed"
        condition = {
            "type": end,
            "status": "True",
            "reason": "AllJobsCompleted" if good else "FailedJobs",
            "message": "jobset completed successfully" if good else "jobset failed",
            "lastTransitionTime": rfc3339(self.nature.now()),
        }
        self._show(jobset, "succeeded" if good else "active", conditions=[condition])


def ended(jobset: Manifest) -> bool:
    """Return whether a JobSet has ended."""
    found = items(jobset, "status", "conditions")
    return any(text(one, "type") in ("Completed", "Failed") for one in found)


def state_of(jobset: Manifest) -> str:
    """Return the last counter that is not nought: how far the Job is."""
    for group in items(jobset, "status", "replicatedJobsStatus"):
        for name in ("suspended", "succeeded", "failed", "ready", "active"):
            if number(group, name):
                return name
    return ""
