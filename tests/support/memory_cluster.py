"""A Kubernetes API in memory: the ports `Cluster` and `Watches`, for tests of their clients.

It is the sandbox's API server without its door: the same storage, admission, server-side apply,
field owners, finalizers and garbage collection, called directly, with the errors that the adapter
makes of them. The contract of the ports holds for it as for a real server. When watches tell is
the business of a `Delivery`: from threads (here), or when a test says so (`stepped_cluster`).
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Protocol
from uuid import uuid4

import msgspec

from jobledger.adapters.kube.decoding import with_kind
from jobledger.adapters.kube.errors import Status, status_error
from jobledger.core.errors import KindNotServed, ObjectExists, ObjectNotFound
from jobledger.core.ports.cluster import (
    Cluster,
    ObjectList,
    ObjectListener,
    Propagation,
    Resource,
    Subscription,
    Watches,
)
from jobledger.core.values.documents import Json, Manifest, text
from jobledger.core.values.instants import Instant
from jobledger.sandbox.admission.builtin_kinds import BUILTIN_KINDS, CRDS, NAMESPACES
from jobledger.sandbox.model.documents import Document, copy_of
from jobledger.sandbox.model.kinds import Kind, Kinds, StorageKey
from jobledger.sandbox.model.refusals import Refusal
from jobledger.sandbox.model.selectors import Test, selection
from jobledger.sandbox.model.storage import Change, Storage, Version, shown_as
from jobledger.sandbox.model.targets import Target
from jobledger.sandbox.model.write_options import WriteOptions, write_options
from jobledger.sandbox.patching.patches import MERGE
from jobledger.sandbox.writing.creation import create
from jobledger.sandbox.writing.deletion import delete, delete_options
from jobledger.sandbox.writing.garbage import GarbageCollector
from jobledger.sandbox.writing.patching import apply, patch
from jobledger.sandbox.writing.updates import commit, replacement, update
from tests.support.memory_kinds import custom_kinds, open_kinds, own_definitions

OURS: Final = "jobledger"
OTHERS: Final = "somebody-else"
"""Field manager of what is done behind everybody's back."""

FIRST_NAMESPACES: Final = ("default", "kube-system", "ml", "other", "team-a", "team-b")


def _utc_now() -> Instant:
    return datetime.now(UTC)


class MemoryCluster(Cluster, Watches):
    """One API server. `writes` counts what was written, for tests of thrift."""

    collects_at_once = True
    """Whether the garbage collector follows each write."""

    def __init__(self, now: Callable[[], Instant] = _utc_now, *, admits_all: bool = False) -> None:
        """Take the time, and whether objects of our own kinds may be as incomplete as they like."""
        self._now = now
        self._storage = Storage(now=now, begin=1)
        self._kinds = Kinds((*BUILTIN_KINDS, *(open_kinds() if admits_all else custom_kinds())))
        self._collector = GarbageCollector(self._storage, self._kinds)
        self._watchers: list[Told] = []
        self._verb = ""
        self.writes: list[tuple[str, str, str]] = []
        """Verb, plural and name of everything that was stored."""
        self.statuses: list[Manifest] = []
        """Every status that an apply led to, no-ops included."""
        self._fill()
        self._storage.on_change = self._changed

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        """See `core.ports.cluster.Cluster.get`."""
        with contextlib.suppress(ObjectNotFound):
            target = self._target(resource, namespace, name)
            found = self._storage.get(target.kind.storage, (target.namespace, name))
            return None if found is None else _shown(target.kind, found)
        return None

    def each(self, resource: Resource, namespace: str = "") -> Iterator[Manifest]:
        """See `core.ports.cluster.Cluster.each`."""
        yield from self.list(resource, namespace).items

    def list(self, resource: Resource, namespace: str = "", label_selector: str = "") -> ObjectList:
        """See `core.ports.cluster.Cluster.list`."""
        with self._storage.lock, refusals(f"list {resource.plural}"):
            kind = self._kind(resource)
            chosen = selection(kind, label_selector, "")
            found = [
                _shown(kind, version)
                for version in self._storage.versions(kind.storage, namespace)
                if chosen is None or chosen(version.document)
            ]
            return ObjectList(items=found, resource_version=str(self._storage.revision))

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        """See `core.ports.cluster.Cluster.create`."""
        target = self._target(resource, text(manifest, "metadata", "namespace"))
        body = copy_of(with_kind(resource, manifest))
        with self._writing("create", resource, manifest):
            version = create(self._storage, target, body, self._options(target))
            return _shown(target.kind, version)

    def replace(self, resource: Resource, manifest: Manifest, subresource: str = "") -> Manifest:
        """See `core.ports.cluster.Cluster.replace`."""
        target = self._target_of(resource, manifest, subresource)
        edit = replacement(target, copy_of(with_kind(resource, manifest)))
        with self._writing(subresource or "replace", resource, manifest):
            version = update(self._storage, target, edit, self._options(target))
            return _shown(target.kind, version)

    def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Manifest,
        *,
        subresource: str = "",
    ) -> Manifest:
        """See `core.ports.cluster.Cluster.merge_patch`."""
        return self.patch_as(OURS, resource, namespace, name, patch, subresource=subresource)

    def patch_as(
        self,
        manager: str,
        resource: Resource,
        namespace: str,
        name: str,
        change: Manifest,
        *,
        subresource: str = "",
    ) -> Manifest:
        """Merge a patch under the name of a field manager."""
        target = self._target(resource, namespace, name, subresource)
        with self._writing(subresource or "patch", resource, {"metadata": {"name": name}}):
            options = self._options(target, manager)
            version = patch(self._storage, target, MERGE, copy_of(dict(change)), options)
            return _shown(target.kind, version)

    def apply(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        field_manager: str,
        subresource: str = "",
        force: bool = False,
    ) -> Manifest:
        """See `core.ports.cluster.Cluster.apply`."""
        target = self._target_of(resource, manifest, subresource)
        query = {"fieldManager": field_manager, "force": "true" if force else "false"}
        body = copy_of(with_kind(resource, manifest))
        with self._writing(subresource or "apply", resource, manifest):
            options = write_options(target, query, "", "Apply")
            version, _ = apply(self._storage, target, body, options, query)
            applied = _shown(target.kind, version)
            if subresource == "status":
                self.statuses.append(applied.get("status", {}))
            return applied

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
        """See `core.ports.cluster.Cluster.delete`."""
        target = self._target(resource, namespace, name)
        wanted: dict[str, Json] = {"propagationPolicy": propagation}
        if uid:
            wanted["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            wanted["gracePeriodSeconds"] = grace_seconds
        with (
            contextlib.suppress(ObjectNotFound),
            self._writing("delete", resource, {"metadata": {"name": name}}),
        ):
            delete(self._storage, target, delete_options({}, wanted))

    def watch(
        self,
        resource: Resource,
        listener: ObjectListener,
        *,
        namespace: str = "",
        selector: str = "",
        is_optional: bool = False,
    ) -> Subscription:
        """See `core.ports.cluster.Watches.watch`."""
        del is_optional
        kind = self._kind(resource)
        with self._storage.lock:
            told = Told(
                self._mailbox(resource, listener), kind, namespace, selection(kind, selector, "")
            )
            for manifest in self.list(resource, namespace, selector).items:
                told.mailbox.put("seen", manifest)
            told.mailbox.put("synced", {})
            self._watchers.append(told)
        return told

    def edit(self, resource: Resource, namespace: str, name: str, **fields: Any) -> Manifest:  # noqa: ANN401 any JSON
        """Put top-level fields in place of those that are there, behind everybody's back.

        Nothing is checked, who owns which field stays as it was, and metadata is taken as it is,
        resourceVersion apart.
        """
        target = self._target(resource, namespace, name)
        key, place = target.kind.storage, (target.namespace, name)
        with self._writing("edit", resource, {"metadata": {"name": name}}):
            found = self._storage.get(key, place)
            if found is None:
                raise ObjectNotFound(name)
            changed: Document = {**found.document, **copy_of(fields)}
            metadata = dict(changed["metadata"])
            if changed.get("spec") != found.document.get("spec"):
                metadata["generation"] += 1
            changed["metadata"] = metadata
            return _shown(target.kind, commit(self._storage, target.kind, changed))

    def plant(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Put an object there that nobody admits, so that it need not be complete."""
        target = self._target_of(resource, manifest, "")
        about = copy_of(dict(with_kind(resource, manifest)))
        metadata = about["metadata"]
        with self._writing("create", resource, manifest):
            if self._storage.get(target.kind.storage, (target.namespace, target.name)):
                raise ObjectExists(f"{resource.plural} {target.name} is there already")
            metadata |= {"uid": str(uuid4()), "creationTimestamp": self._storage.now()}
            metadata.setdefault("generation", 1)
            return _shown(target.kind, self._storage.put(target.kind.storage, about))

    def collect(self) -> None:
        """Delete what owners left behind, as the garbage collector does, a process of its own."""
        with self._storage.lock:
            self._verb = "delete"
            while self._collector.collect():
                pass

    def _mailbox(self, resource: Resource, listener: ObjectListener) -> "Mailbox":
        del resource
        return _Thread(listener, self._now)

    def _fill(self) -> None:
        for definition in own_definitions():
            self._storage.put(CRDS.storage, definition)
        for name in FIRST_NAMESPACES:
            target = Target(kind=NAMESPACES)
            create(self._storage, target, {"metadata": {"name": name}}, self._options(target))

    def _kind(self, resource: Resource) -> Kind:
        kind = self._kinds.find(resource.group, resource.version, resource.plural)
        if kind is None:
            raise KindNotServed(f"{resource.plural} are not served")
        return kind

    def _target(
        self, resource: Resource, namespace: str, name: str = "", subresource: str = ""
    ) -> Target:
        kind = self._kind(resource)
        where = namespace if kind.namespaced else ""
        return Target(kind=kind, namespace=where, name=name, subresource=subresource)

    def _target_of(self, resource: Resource, manifest: Manifest, subresource: str) -> Target:
        namespace, name = (
            text(manifest, "metadata", "namespace"),
            text(manifest, "metadata", "name"),
        )
        return self._target(resource, namespace, name, subresource)

    def _options(self, target: Target, manager: str = OURS) -> WriteOptions:
        return write_options(target, {"fieldManager": manager}, "", "Update")

    @contextlib.contextmanager
    def _writing(self, verb: str, resource: Resource, manifest: Manifest) -> Iterator[None]:
        """Carry out one write with what follows from it; the garbage collector is prompt."""
        about = f"{verb} {resource.plural} {text(manifest, 'metadata', 'name')}"
        with self._storage.lock, refusals(about):
            self._verb = verb
            yield
            if self.collects_at_once:
                self.collect()

    def _changed(self, key: StorageKey, change: Change) -> None:
        verb = {"DELETED": "remove", "ADDED": "create"}.get(change.type, self._verb)
        name = change.version.document["metadata"]["name"]
        self.writes.append((verb, key[1], name))
        self._collector.note(key, change)
        for told in tuple(self._watchers):
            told.tell(key, change)


class Mailbox(Protocol):
    """Who tells a listener, and when."""

    def put(self, news: str, document: Manifest) -> None:
        """Take what is to be told: seen, gone or synced."""

    def stop(self) -> None:
        """Tell nothing more."""


class Told(Subscription):
    """One watch: which changes concern it, and what they are to its listener."""

    def __init__(self, mailbox: Mailbox, kind: Kind, namespace: str, chosen: Test | None) -> None:
        self.mailbox, self.kind = mailbox, kind
        self._namespace, self._chosen = namespace, chosen
        self._stopped = False

    def tell(self, key: StorageKey, change: Change) -> None:
        """Tell a change, if it concerns this watch."""
        if key != self.kind.storage or self._stopped:
            return
        document = change.version.document
        if self._namespace not in ("", document["metadata"].get("namespace", "")):
            return
        is_there = change.type != "DELETED" and self._selects(document)
        if is_there:
            self.mailbox.put("seen", _shown(self.kind, change.version))
        elif change.before is not None and self._selects(change.before):
            revision = change.version.revision
            self.mailbox.put(
                "gone", _shown(self.kind, Version(_at(change.before, revision), revision))
            )

    def stop(self) -> None:
        """See `core.ports.cluster.Subscription.stop`."""
        if not self._stopped:
            self._stopped = True
            self.mailbox.stop()

    def _selects(self, document: Document) -> bool:
        return self._chosen is None or self._chosen(document)


class _Thread(Mailbox):
    """Tells from a thread of its own."""

    def __init__(self, listener: ObjectListener, now: Callable[[], Instant]) -> None:
        self._listener, self._now = listener, now
        self._news: queue.Queue[tuple[str, Manifest] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def put(self, news: str, document: Manifest) -> None:
        self._news.put((news, document))

    def stop(self) -> None:
        self._news.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (news := self._news.get()) is not None:
            call(self._listener, *news, self._now())


def call(listener: ObjectListener, news: str, document: Manifest, at: Instant) -> None:
    """Tell a listener."""
    if news == "synced":
        listener.synced(at)
    elif news == "seen":
        listener.seen(document, at)
    else:
        listener.gone(document, at)


@contextlib.contextmanager
def refusals(about: str) -> Iterator[None]:
    """Raise what the adapter makes of a refusal."""
    try:
        yield
    except Refusal as refusal:
        status = msgspec.convert(refusal.status, Status)
        raise status_error(about, status, code=refusal.code) from refusal


def _shown(kind: Kind, version: Version) -> dict[str, Any]:
    shown: dict[str, Any] = copy_of(shown_as(kind, version.document))
    return shown


def _at(document: Mapping[str, Any], revision: int) -> Document:
    return {**document, "metadata": {**document["metadata"], "resourceVersion": str(revision)}}
