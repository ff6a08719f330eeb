"""A namespace of one API server, in which one life takes place: what is done, what is seen."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.trainjobs import CLUSTER_RUNTIMES, RUNTIMES
from tests.acceptance.witness import JOBSETS, TRAINJOBS
from tests.operators.train_lives import nodes
from tests.operators.train_lives.recorder import Recorder
from tests.support.api import CONFIGMAPS, JOBS, MERGE, Api, Reply
from tests.support.kills import Presence
from tests.support.waiting import pause

SECRETS = "v1/secrets"
QUOTAS = "v1/resourcequotas"
COSCHEDULING = "scheduling.x-k8s.io/v1alpha1/podgroups"
VOLCANO = "scheduling.volcano.sh/v1beta1/podgroups"
PODGROUPS = (COSCHEDULING, VOLCANO)
WATCHED = (TRAINJOBS, JOBSETS, CONFIGMAPS, SECRETS, *PODGROUPS, JOBS)

BEGIN_SECONDS = 0.3
QUIET_SECONDS = 3.0
"""So long nothing has to happen in a namespace, then it is as it stays."""
SETTLED_SECONDS = 60.0
PODS_SECONDS = 30.0
CACHE_SECONDS = 10.0
"""Trainer's webhook reads runtimes from a cache that lags."""
WAIT_SECONDS = 60.0

NO_JOBSETS = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "none"},
    "spec": {"hard": {"count/jobsets.jobset.x-k8s.io": "0"}},
}

Document = dict[str, Any]
Step = tuple[str, Document]


@dataclass(slots=True)
class World:
    """Where a life takes place, and what was seen of it."""

    api: Api
    recorder: Recorder
    controller: Presence
    steps: list[Step] = field(default_factory=list)
    """How everything stood each time that nothing changed any more."""
    _replies: list[tuple[int, str]] = field(default_factory=list)

    def keep(self, reply: Reply) -> Reply:
        """Keep what the API server said to a user."""
        self._replies.append((reply.code, reply.message if reply.code >= 400 else ""))
        return reply

    def runtime(self, document: Document) -> None:
        """Create a runtime, of the namespace or of the cluster."""
        if document["kind"] == "TrainingRuntime":
            self.keep(self.api.create(RUNTIMES, document))
        else:
            self.keep(self.api.request("POST", CLUSTER_RUNTIMES, document))

    def submit(self, document: Document) -> None:
        """Create a TrainJob."""
        begun = time.monotonic()
        while True:
            reply = self.api.create(TRAINJOBS, document)
            waited = time.monotonic() - begun
            is_late = reply.code >= 400 and "must be created before" in reply.message
            if not is_late or waited > CACHE_SECONDS:
                self.keep(reply)
                return
            pause(waited)

    def change(self, **spec: object) -> None:
        """Merge something into the specification."""
        self.keep(self.api.merge(TRAINJOBS, "fit", {"spec": spec}))

    def label(self, resource: str, name: str, labels: Document) -> None:
        """Put labels on an object."""
        self.merge(resource, name, {"metadata": {"labels": labels}})

    def merge(self, resource: str, name: str, patch: Document) -> None:
        """Change an object as its users may."""
        self.keep(self.api.merge(resource, name, patch))

    def conditions(self, conditions: object) -> None:
        """Put other conditions into the status, by hand."""
        path = self.api.path(TRAINJOBS, "fit", "status")
        body = {"status": {"conditions": conditions}}
        reply = self.api.request(
            "PATCH", path, body, content_type=MERGE, fieldManager="kubectl-edit"
        )
        self.keep(reply)

    def delete(self, resource: str, name: str, how: str = "Background") -> None:
        """Delete an object."""
        self.keep(self.api.delete(resource, name, propagationPolicy=how))

    def run(self, group: str = "", count: int = 1) -> None:
        """Wait for so many Pods, and let them run."""
        self.wait(lambda: len(nodes.pods(self.api, group)) >= count, PODS_SECONDS)
        nodes.run(self.api, group)

    def end(self, group: str = "", *, fails: bool = False) -> None:
        """Let all Pods end, of a group or of all."""
        nodes.end(self.api, group, fails=fails)

    def has_jobset(self) -> bool:
        """Return whether there is a JobSet."""
        return self.api.get(JOBSETS, "fit").code == 200  # OK

    def has_failed(self) -> bool:
        """Return whether the job shows that it has failed."""
        status = self.api.get(TRAINJOBS, "fit").body.get("status") or {}
        return any(one["type"] == "Failed" for one in status.get("conditions") or [])

    def wait(self, what: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
        """Wait until something is so; that it never was is a part of what is seen."""
        begun = time.monotonic()
        while not what():
            waited = time.monotonic() - begun
            if waited > seconds:
                self._replies.append((0, "waited in vain"))
                return
            pause(waited)

    def settle(self, name: str, quiet: float = QUIET_SECONDS) -> None:
        """Wait until nothing changes any more, and keep how everything stands."""
        begun = begun_again = time.monotonic()
        time.sleep(BEGIN_SECONDS)
        while time.monotonic() - begun < SETTLED_SECONDS:
            if self.controller.is_away:
                begun_again = time.monotonic()
            last = max(self.recorder.last(self.api.namespace), begun_again)
            if time.monotonic() - last > quiet:
                break
            time.sleep(0.1)
        self.steps.append((name, self._stands()))

    def _stands(self) -> Document:
        found: Document = {one: self.api.list(one).body["items"] for one in WATCHED}
        found["replies"], self._replies = self._replies, []
        found["pods"] = len(nodes.pods(self.api))
        events = self.api.list("v1/events").body["items"]
        found["events"] = [one for one in events if one["involvedObject"]["kind"] == "TrainJob"]
        return found
