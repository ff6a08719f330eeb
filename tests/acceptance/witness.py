"""Somebody who watches a namespace and forgets nothing, as `kubectl get -w` would."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import urllib3

from tests.support.api import Api

LIMIT_SECONDS = 120.0
"""Generous: the machine may be busy. A test that passes never waits this long."""

RAYJOBS = "ray.io/v1/rayjobs"
RAYCLUSTERS = "ray.io/v1/rayclusters"
BATCH_JOBS = "batch/v1/jobs"
TRAINJOBS = "trainer.kubeflow.org/v1alpha1/trainjobs"
JOBSETS = "jobset.x-k8s.io/v1alpha2/jobsets"
KUBERNETES_EVENTS = "events.k8s.io/v1/events"
WATCHED = (RAYJOBS, RAYCLUSTERS, BATCH_JOBS)

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """One line of a watch."""

    revision: int
    verb: str
    """ADDED, MODIFIED or DELETED."""
    resource: str
    document: Document

    @property
    def name(self) -> str:
        """Return the object's name."""
        return str(self.document["metadata"]["name"])

    @property
    def uid(self) -> str:
        """Return the object's UID."""
        return str(self.document["metadata"]["uid"])


@dataclass(frozen=True, slots=True)
class Life:
    """From when to when an object was there, in revisions of the API."""

    name: str
    begun: int
    ended: int | None


class Witness:
    """Watches several kinds of objects of one namespace from now on; a context manager."""

    def __init__(self, api: Api, resources: Sequence[str] = WATCHED) -> None:
        self._api = api
        self._resources = resources
        self._told: list[Told] = []
        self._earlier: set[str] = set()
        self._changed = threading.Condition()
        self._answers: list[Any] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        for resource in self._resources:
            listed = self._api.list(resource)
            self._earlier |= {item["metadata"]["uid"] for item in listed.body["items"]}
            revision = listed.revision
            answer = self._api.pool.request(
                "GET",
                f"{self._api.url}{self._api.path(resource)}?watch=true&resourceVersion={revision}",
                headers=self._api.headers,
                preload_content=False,
                retries=False,
                timeout=None,
            )
            thread = threading.Thread(target=self._read, args=(resource, answer))
            thread.start()
            self._answers.append(answer)
            self._threads.append(thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        for answer in self._answers:
            answer.shutdown()
        for thread in self._threads:
            thread.join()
        for answer in self._answers:
            answer.close()

    def told(self, resource: str, name: str = "") -> list[Told]:
        """Return everything about objects of a kind (or one of them), in order."""
        with self._changed:
            found = [item for item in self._told if item.resource == resource]
        return sorted(
            (item for item in found if not name or item.name == name),
            key=lambda item: item.revision,
        )

    def status(self, name: str) -> Document:
        """Return the last known status of a RayJob."""
        told = self.told(RAYJOBS, name)
        return dict(told[-1].document.get("status", {})) if told else {}

    def wait_for_status(self, name: str, *, seconds: float = LIMIT_SECONDS, **wanted: str) -> None:
        """Return once some of the status fields of a RayJob have these values."""

        def reached() -> bool:
            status = self.status(name)
            return all(status.get(field) == value for field, value in wanted.items())

        self.wait_until(reached, f"{name} has {wanted}", seconds)

    def wait_for_phase(self, name: str, phase: str, seconds: float = LIMIT_SECONDS) -> Document:
        """Return the status of a RayJob once it is in a phase."""
        self.wait_for_status(name, seconds=seconds, jobDeploymentStatus=phase)
        return self.status(name)

    def wait_until(
        self, condition: Callable[[], bool], what: str, seconds: float = LIMIT_SECONDS
    ) -> None:
        """Return once what was told fulfils a condition."""
        until = time.monotonic() + seconds
        while not condition():
            left = until - time.monotonic()
            if left <= 0:
                raise AssertionError(f"after {seconds:.0f} s still not: {what}\n{self._summary()}")
            with self._changed:
                self._changed.wait(min(left, 1.0))

    def phases(self, name: str) -> list[str]:
        """Return the phases of a RayJob in the order in which they were shown."""
        shown = [
            item.document.get("status", {}).get("jobDeploymentStatus", "")
            for item in self.told(RAYJOBS, name)
        ]
        return [
            phase for at, phase in enumerate(shown) if phase and (at == 0 or phase != shown[at - 1])
        ]

    def lives(self, resource: str) -> list[Life]:
        """Return every object of a kind that there ever was, in order of creation."""
        self._catch_up(resource)
        lives: dict[str, Life] = {}
        for item in self.told(resource):
            known = lives.get(item.uid, Life(item.name, item.revision, None))
            ended = item.revision if item.verb == "DELETED" else None
            lives[item.uid] = Life(known.name, known.begun, ended)
        return list(lives.values())

    def clusters_of(self, name: str) -> list[Life]:
        """Return every RayCluster that a RayJob ever had."""
        owned = {
            item.name
            for item in self.told(RAYCLUSTERS)
            if any(owner["name"] == name for owner in item.document["metadata"]["ownerReferences"])
        }
        return [life for life in self.lives(RAYCLUSTERS) if life.name in owned]

    def _read(self, resource: str, answer: Any) -> None:  # noqa: ANN401  # urllib3's own type
        for document in _documents(answer):
            revision = int(document["object"]["metadata"]["resourceVersion"])
            with self._changed:
                told = Told(revision, document["type"], resource, document["object"])
                self._told.append(told)
                self._changed.notify_all()

    def _catch_up(self, resource: str) -> None:
        """Wait until what is there now was told, and what has gone too.

        Each kind has a watch of its own: that one of them has told of a change says nothing about
        what the others have told by then.
        """
        listed = self._api.list(resource)
        there = {
            item["metadata"]["uid"]: int(item["metadata"]["resourceVersion"])
            for item in listed.body["items"]
        }

        def is_told() -> bool:
            last = {item.uid: item for item in self.told(resource)}
            return all(
                uid in last and last[uid].revision >= revision
                for uid, revision in there.items()
                if uid not in self._earlier
            ) and all(
                uid in there or item.verb == "DELETED" or item.revision > int(listed.revision)
                for uid, item in last.items()
            )

        self.wait_until(is_told, f"{resource} are told as they are now")

    def _summary(self) -> str:
        """Return what was told last about every object."""
        last = {(item.resource, item.name): item for item in self._told}
        lines = []
        for (resource, name), item in sorted(last.items()):
            phases = self.phases(name) if resource == RAYJOBS else ""
            lines.append(
                f"{resource} {name}: {item.verb} {phases} {item.document.get('status', {})}"
            )
        return "\n".join(lines) or "nothing was told"


def _documents(answer: Any) -> Iterator[Document]:  # noqa: ANN401  # urllib3's own type
    """Yield the lines of a watch, until it is shut down."""
    rest = b""
    with contextlib.suppress(urllib3.exceptions.HTTPError, OSError, ValueError):
        for piece in answer.stream(65536):
            *whole, rest = (rest + piece).split(b"\n")
            yield from (json.loads(line) for line in whole if line)
