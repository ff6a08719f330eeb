"""Watches of one process as queues: the driver delivers them, late, twice, or not at all.

Changes of one kind keep their order, as the API promises; between kinds there is none. What is lost
when a watch breaks off is made good by a new list, told as the real reflector tells it.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from jobledger.core.ports.cluster import ObjectListener, Resource, Subscription, Watches
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.instants import Instant
from tests.simulation.documents import selects
from tests.simulation.kubernetes import Change, SimulatedApi

REPEATED_MAX = 4
"""How many of the last changes a watch that is resumed too early tells again."""


class Reflector(Subscription):
    """One watch of one process."""

    def __init__(
        self,
        api: SimulatedApi,
        resource: Resource,
        listener: ObjectListener,
        chosen: tuple[str, str],
        now: Callable[[], Instant],
    ) -> None:
        """Take a namespace and a label selector as what is chosen; empty: any."""
        self.resource = resource
        self._api, self._listener, self._now = api, listener, now
        self._namespace, self._selector = chosen
        self._news: deque[Change] = deque()
        self._told: deque[Change] = deque(maxlen=REPEATED_MAX)
        self._known: dict[str, Manifest] = {}
        self._list_reason = "first list"
        self._current_until: Instant | None = None
        self._stopped = False
        api.told.append(self._note)

    @property
    def has_news(self) -> bool:
        """Return whether there is something to deliver."""
        return not self._stopped and bool(self._list_reason or self._news)

    @property
    def has_told(self) -> bool:
        """Return whether there is something to tell again."""
        return not self._stopped and bool(self._told) and not self._list_reason

    def stop(self) -> None:
        """See `core.ports.cluster.Subscription.stop`."""
        self._stopped = True
        if self._note in self._api.told:
            self._api.told.remove(self._note)

    def deliver(self) -> None:
        """Tell one change, or list anew."""
        if self._list_reason:
            self._list()
            return
        change = self._news.popleft()
        self._told.append(change)
        self._tell(change)

    def repeat(self) -> None:
        """Tell the last changes once more, in their order: resumed from an older version."""
        for change in list(self._told):
            self._tell(change)

    def break_off(self, reason: str) -> None:
        """Lose what is under way; everything is to be listed anew."""
        self._list_reason = self._list_reason or reason

    def _note(self, change: Change) -> None:
        if change.resource is not self.resource or self._list_reason:
            return
        if self._chooses(change.document):
            self._news.append(change)
        elif change.before is not None and self._chooses(change.before):
            self._news.append(replace(change, kind="gone"))

    def _chooses(self, manifest: Manifest) -> bool:
        here = self._namespace in ("", text(manifest, "metadata", "namespace"))
        return here and selects(self._selector, manifest)

    def _tell(self, change: Change) -> None:
        uid = text(change.document, "metadata", "uid")
        self._current_until = self._now()
        if change.kind == "seen":
            self._known[uid] = _stub(change.document)
            self._listener.seen(change.document, self._now())
        else:
            self._known.pop(uid, None)
            self._listener.gone(change.document, self._now())

    def _list(self) -> None:
        at, reason = self._now(), self._list_reason
        self._news.clear()
        self._told.clear()
        self._list_reason = ""
        if self._current_until is not None:
            self._listener.interrupted(self._current_until, at, reason)
        present = {}
        for manifest in self._api.list(self.resource, self._namespace, self._selector).items:
            present[text(manifest, "metadata", "uid")] = _stub(manifest)
            self._listener.seen(manifest, at)
        missing = [stub for uid, stub in self._known.items() if uid not in present]
        self._known, self._current_until = present, at
        for stub in missing:
            self._listener.gone(stub, at)
        self._listener.synced(at)


class Reflectors(Watches):
    """The watches of one process."""

    def __init__(self, api: SimulatedApi, now: Callable[[], Instant]) -> None:
        self._api, self._now = api, now
        self.all: list[Reflector] = []

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
        reflector = Reflector(self._api, resource, listener, (namespace, selector), self._now)
        self.all.append(reflector)
        return reflector

    def deliver(self) -> None:
        """Tell everything that waits."""
        for reflector in self.all:
            while reflector.has_news:
                reflector.deliver()

    def stop(self) -> None:
        """End them all, as when their process is gone."""
        for reflector in self.all:
            reflector.stop()


def _stub(manifest: Manifest) -> Manifest:
    metadata = child(manifest, "metadata")
    kept = ("name", "namespace", "uid", "resourceVersion")
    return {"metadata": {key: metadata[key] for key in kept if key in metadata}}
