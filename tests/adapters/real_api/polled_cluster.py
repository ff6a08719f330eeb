"""A real API server whose watches tell only when they are asked to: no threads.

So the whole service runs step by step, by a clock of its own, against what a real API server
honours and refuses. What has changed is found by listing anew, after a write and when a test says
that others wrote.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.core.ports.cluster import (
    ObjectList,
    ObjectListener,
    Propagation,
    Resource,
    Subscription,
)
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.instants import Instant
from tests.support.stepped_cluster import SteppedCluster

BeforeWrite = Callable[[str, Resource, str], None]
"""Called with verb, kind and name right before a request that writes is sent."""


@dataclass
class _Mailbox(Subscription):
    """One watch, told by hand."""

    resource: Resource
    listener: ObjectListener
    selector: str
    known: dict[str, Manifest] = field(default_factory=dict)
    is_listed: bool = False

    def stop(self) -> None:
        self.known.clear()


class PolledCluster(SteppedCluster):
    """One namespace of a real API server, by the rights of `client`."""

    def __init__(
        self, client: KubernetesCluster, namespace: str, now: Callable[[], Instant]
    ) -> None:
        super().__init__(now)
        self._client, self._namespace = client, namespace
        self._boxes: list[_Mailbox] = []
        self.is_stale = True
        """Whether anything may have changed since it was listed."""
        self.before: BeforeWrite = lambda *_: None

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        return self._client.get(resource, namespace, name)

    def list(self, resource: Resource, namespace: str = "", label_selector: str = "") -> ObjectList:
        return self._client.list(resource, namespace, label_selector)

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        self._note("create", resource, text(manifest, "metadata", "name"))
        return self._client.create(resource, manifest)

    def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Manifest,
        **more: Any,  # noqa: ANN401 as the port
    ) -> Manifest:
        self._note("patch", resource, name)
        return self._client.merge_patch(resource, namespace, name, patch, **more)

    def apply(self, resource: Resource, manifest: Manifest, **more: Any) -> Manifest:  # noqa: ANN401 as the port
        self._note("apply", resource, text(manifest, "metadata", "name"))
        return self._client.apply(resource, manifest, **more)

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> None:
        self._note("delete", resource, name)
        self._client.delete(
            resource,
            namespace,
            name,
            uid=uid,
            propagation=propagation,
            grace_seconds=grace_seconds,
        )

    def watch(
        self,
        resource: Resource,
        listener: ObjectListener,
        *,
        namespace: str = "",
        selector: str = "",
        is_optional: bool = False,
    ) -> Subscription:
        del namespace, is_optional
        box = _Mailbox(resource, listener, selector)
        self._boxes.append(box)
        self.is_stale = True
        return box

    def deliver(self) -> bool:
        if not self.is_stale:
            return False
        self.is_stale = False
        told = [self._deliver(box) for box in self._boxes]
        return any(told)

    def disconnect(self) -> None:
        self._boxes.clear()

    def peek(self, resource: Resource) -> "list[Manifest]":  # type: ignore[valid-type]
        del resource
        return []  # nobody plays KubeRay or JobSet here

    def _note(self, verb: str, resource: Resource, name: str) -> None:
        self.is_stale = True
        self.before(verb, resource, name)

    def _deliver(self, box: _Mailbox) -> bool:
        where = "" if box.resource.plural.startswith("cluster") else self._namespace
        found = {
            text(item, "metadata", "uid"): item
            for item in self._client.list(box.resource, where, box.selector).items
        }
        before, box.known = box.known, found
        for uid, item in before.items():
            if uid not in found:
                box.listener.gone(item, self._now())
        fresh = [item for uid, item in found.items() if before.get(uid) != item]
        for item in fresh:
            box.listener.seen(item, self._now())
        was_listed, box.is_listed = box.is_listed, True
        if not was_listed:
            box.listener.synced(self._now())
        return bool(fresh) or len(before) > len(found) or not was_listed
