"""One API server with one controller of RayJobs: what is on it, and all that was."""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urllib3

from tests.lives.heads import Heads
from tests.support.api import JOBS, PODS, RAYJOBS, SERVICES, Api, Reply, eventually
from tests.support.kills import Presence

RAYCLUSTERS = "ray.io/v1/rayclusters"
EVENTS = "events.k8s.io/v1/events"
PODGROUPS = "scheduling.volcano.sh/v1beta1/podgroups"
SECRETS = "v1/secrets"
WATCHED = (RAYJOBS, RAYCLUSTERS, JOBS, SERVICES, PODS, PODGROUPS)

Document = dict[str, Any]


@dataclass(slots=True)
class World:
    """What watches have told, in order."""

    api: Api
    heads: Heads
    directory: Path
    """Where its API server keeps its files."""
    seen: dict[str, list[tuple[str, Document]]] = field(default_factory=dict)
    """Resource -> type of the event and the object, in order."""
    controller: Presence = field(default_factory=Presence)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _ended: bool = False

    def start(self) -> None:
        """Begin to watch."""
        for resource in WATCHED:
            self.seen[resource] = []
            served = functools.partial(_served, self.api, resource)
            reply = eventually(served, f"{resource} is served")
            threading.Thread(
                target=self._watch, args=(resource, reply.revision), daemon=True
            ).start()

    def stop(self) -> None:
        """Watch no more."""
        self._ended = True

    def _watch(self, resource: str, revision: str) -> None:
        while not self._ended:
            with (
                contextlib.suppress(urllib3.exceptions.HTTPError, OSError),
                self.api.watch(resource, resourceVersion=revision, timeoutSeconds="50") as events,
            ):
                for event in events:
                    if event["type"] == "ERROR":
                        raise AssertionError(event)
                    revision = event["object"]["metadata"]["resourceVersion"]
                    if resource == RAYCLUSTERS and event["type"] == "DELETED":
                        self.heads.gone.add(event["object"]["metadata"]["name"])
                    with self._changed:
                        self.seen[resource].append((event["type"], event["object"]))
                        self._changed.notify_all()

    def kubeconfig(self, user: str) -> Path:
        """Return the kubeconfig of a user."""
        return self.directory / f"{user}.kubeconfig"

    def history(self, resource: str, name: str) -> Sequence[tuple[str, Document]]:
        """Return all that was told of one object by name."""
        return [one for one in list(self.seen[resource]) if one[1]["metadata"]["name"] == name]

    def made_for(self, resource: str, job: str) -> list[Document]:
        """Return the objects that were ever made for a RayJob, each as it was last, by age."""
        last: dict[str, Document] = {}
        for kind, document in list(self.seen[resource]):
            metadata = document["metadata"]
            owners = metadata.get("ownerReferences") or []
            if any(one["kind"] == "RayJob" and one["name"] == job for one in owners):
                last[metadata["uid"]] = {**document, "gone": kind == "DELETED"}
        return list(last.values())

    def wait(self, condition: Callable[[], Any], seconds: float) -> Any:  # noqa: ANN401 whatever the condition returns
        """Return the first true answer of a condition; None if there is none in time."""
        until = time.monotonic() + seconds
        while not (found := condition()):
            left = until - time.monotonic()
            if left <= 0:
                return None
            with self._changed:
                self._changed.wait(min(left, 0.5))
        return found


def _served(api: Api, resource: str) -> Reply | None:
    reply = api.list(resource)
    return reply if reply.code == 200 else None  # OK
