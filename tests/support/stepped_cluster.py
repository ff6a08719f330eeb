"""A Kubernetes API in memory whose watches tell only when they are asked to: no threads."""

import copy
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from core.errors import ObjectChanged, ObjectNotFound
from core.ports.cluster import ObjectListener, Resource, Subscription
from core.values.documents import Manifest, child
from core.values.instants import Instant, rfc3339
from tests.support.memory_cluster import (
    PRECONDITIONS_OF_STATUS,
    Document,
    MemoryCluster,
    Place,
)


class SteppedCluster(MemoryCluster):
    """`deliver` tells the listeners what has happened since; `disconnect` forgets them.

    `pruned` names status fields that this API server's CRD does not have.
    """

    def __init__(self, now: Callable[[], Instant]) -> None:
        super().__init__()
        self._now = now
        self._applied: dict[tuple[Resource, str, str], set[str]] = {}
        self.pruned: frozenset[str] = frozenset()
        self.dates_by_its_clock = False
        """Whether creationTimestamps are of its own clock, and not of this machine's."""
        self.lagging: set[Resource] = set()
        """Kinds whose watches tell nothing for now."""
        self.statuses: list[Manifest] = []
        """Every status that an apply or a patch led to, no-ops included."""

    def apply(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        field_manager: str,
        subresource: str = "",
        force: bool = False,
    ) -> Manifest:
        if subresource != "status":
            return self._apply_object(resource, manifest)
        del field_manager, force  # there is one manager
        metadata = child(manifest, "metadata")
        place = (resource, str(metadata["namespace"]), str(metadata["name"]))
        with self._lock:
            known = self._known(place, metadata, PRECONDITIONS_OF_STATUS)
            sent = {k: v for k, v in child(manifest, "status").items() if k not in self.pruned}
            before = child(known, "status")
            kept = {k: v for k, v in before.items() if k not in self._applied.get(place, set())}
            self._applied[place] = set(sent)
            status: Document = copy.deepcopy({**kept, **sent})
            self.statuses.append(status)
            if status == before:
                return copy.deepcopy(known)
            return self._store(place, {**copy.deepcopy(known), "status": status}, "status")

    def _store(self, place: Place, document: Document, verb: str) -> Document:
        if verb == "create" and self.dates_by_its_clock:
            document["metadata"]["creationTimestamp"] = rfc3339(self._now())
        return super()._store(place, document, verb)

    def _apply_object(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Create the object, or put its fields in place of what is there; nothing is pruned."""
        metadata = child(manifest, "metadata")
        place = (resource, str(metadata["namespace"]), str(metadata["name"]))
        with self._lock:
            known = self._objects.get(place)
            if known is None and metadata.get("uid"):
                raise ObjectChanged(f"{place[2]} is not there")
            if known is None:
                return self.create(resource, manifest)
            known = self._known(place, metadata)
            changed: Document = {**copy.deepcopy(known), **copy.deepcopy(dict(manifest))}
            changed["metadata"] = {**known["metadata"], **metadata}
            if changed == known:
                return copy.deepcopy(known)
            if changed.get("spec") != known.get("spec"):
                changed["metadata"]["generation"] += 1
            return self._store(place, changed, "apply")

    def watch(
        self,
        resource: Resource,
        listener: ObjectListener,
        *,
        namespace: str = "",
        selector: str = "",
    ) -> Subscription:
        with self._lock:
            mailbox = _Mailbox(resource, listener, namespace, self._now)
            for document in self.list(resource, namespace, selector).items:
                mailbox.put("seen", document)
            mailbox.put("synced", {})
            self._mailboxes().append(mailbox)
        return mailbox

    def peek(self, resource: Resource) -> list[Manifest]:
        """Return the objects of a kind themselves, not to be changed: a list copies them."""
        with self._lock:
            return [item for place, item in self._objects.items() if place[0] == resource]

    def deliver(self) -> bool:
        """Tell everything that waits; return whether there was anything."""
        mailboxes = [item for item in self._mailboxes() if item.resource not in self.lagging]
        told = [mailbox.deliver() for mailbox in mailboxes]
        return any(told)

    def disconnect(self) -> None:
        """Forget all watches, as when their process is gone."""
        self._watchers.clear()

    def edit(self, resource: Resource, namespace: str, name: str, **fields: Any) -> Manifest:  # noqa: ANN401 any JSON
        """Change top-level fields of an object (labels, spec) behind everybody's back."""
        with self._lock:
            known = self._objects.get((resource, namespace, name))
            if known is None:
                raise ObjectNotFound(name)
            changed = {**copy.deepcopy(known), **fields}
            if changed.get("spec") != known.get("spec"):
                changed["metadata"]["generation"] += 1
            return self._store((resource, namespace, name), changed, "edit")

    def _mailboxes(self) -> "list[_Mailbox]":
        return cast("list[_Mailbox]", self._watchers)


class _Mailbox(Subscription):
    """One watch, told by hand. Stands in place of `memory_cluster._Watcher`."""

    def __init__(
        self,
        resource: Resource,
        listener: ObjectListener,
        namespace: str,
        now: Callable[[], Instant],
    ) -> None:
        self.resource, self.namespace = resource, namespace
        self._listener, self._now = listener, now
        self._news: deque[tuple[str, Manifest]] = deque()

    def put(self, news: str, document: Manifest) -> None:
        self._news.append((news, document))

    def stop(self) -> None:
        self._news.clear()

    def deliver(self) -> bool:
        count = len(self._news)
        while self._news:
            news, document = self._news.popleft()
            if news == "seen":
                self._listener.seen(document, self._now())
            elif news == "gone":
                self._listener.gone(document, self._now())
            else:
                self._listener.synced(self._now())
        return count > 0
