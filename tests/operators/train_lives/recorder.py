"""Watches what becomes of the objects of all namespaces of an API server."""

import contextlib
import threading
import time
from collections.abc import Sequence
from typing import Any

import urllib3

from tests.support.api import Api

Document = dict[str, Any]
Told = tuple[str, str, Document]
"""What happened, to an object of which kind, and how the object is now."""

AGAIN_SECONDS = 0.2


class _Everywhere(Api):
    """The same API server, all namespaces at once."""

    def path(self, resource: str, name: str = "", subresource: str = "") -> str:
        """Return the path of a resource."""
        del name, subresource
        group_version, _, plural = resource.rpartition("/")
        return f"/{'apis' if '/' in group_version else 'api'}/{group_version}/{plural}"


class Recorder:
    """Keeps what watches tell, by namespace, and when they told last."""

    def __init__(self, api: Api, resources: Sequence[str]) -> None:
        """Take an administrator's client, and what is to be watched."""
        self._api = _Everywhere(api.url, api.pool, "", api.headers)
        self._resources = resources
        self._told: dict[str, list[Told]] = {}
        self._last: dict[str, float] = {}
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Watch, until `stop` is called; the threads end with their watches."""
        for resource in self._resources:
            threading.Thread(target=self._watch, args=(resource,), daemon=True).start()

    def stop(self) -> None:
        """Keep nothing more."""
        self._stopped.set()

    def told(self, namespace: str, resource: str) -> list[tuple[str, Document]]:
        """Return what happened to objects of a kind."""
        with self._lock:
            found = list(self._told.get(namespace, []))
        return [(verb, document) for verb, kind, document in found if kind == resource]

    def last(self, namespace: str) -> float:
        """Return when something happened last, by the monotonic clock; 0: nothing did."""
        with self._lock:
            return self._last.get(namespace, 0.0)

    def _watch(self, resource: str) -> None:
        seen: set[tuple[str, str]] = set()
        while not self._stopped.is_set():
            with (
                contextlib.suppress(urllib3.exceptions.HTTPError, OSError, ValueError),
                self._api.watch(resource) as events,
            ):
                for event in events:
                    if event.get("type") in ("ADDED", "MODIFIED", "DELETED"):
                        self._tell(event["type"], resource, event["object"], seen)
            self._stopped.wait(AGAIN_SECONDS)

    def _tell(
        self, verb: str, resource: str, document: Document, seen: set[tuple[str, str]]
    ) -> None:
        metadata = document["metadata"]
        key = (metadata["uid"], metadata["resourceVersion"])
        if key in seen:
            return
        seen.add(key)
        with self._lock:
            self._last[metadata["namespace"]] = time.monotonic()
            self._told.setdefault(metadata["namespace"], []).append((verb, resource, document))
