"""A service's watches of kinds, at an API server that knows, or lets be listed, some only."""

import threading
from collections.abc import Mapping

from jobledger.adapters.kinds.registry import ADAPTERS
from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.watches.event_handlers import EventHandlers, WatchedKind
from jobledger.adapters.service.watches.kind_watches import KindWatches, SyncedKinds
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.core.errors import KindNotServed
from jobledger.core.ports.cluster import ObjectList, ObjectListener, Resource, Subscription
from jobledger.core.values.documents import Manifest
from tests.support.records import NOON
from tests.support.service_world import own_door
from tests.support.stepped_cluster import SteppedCluster


class Server(SteppedCluster):
    """Knows some kinds only."""

    def __init__(self) -> None:
        super().__init__(lambda: NOON)
        self.errors: dict[Resource, Exception] = {}
        self.errors_in: dict[tuple[Resource, str], Exception] = {}
        """The same for one namespace; `""` is a list over all of them."""
        self.listeners: dict[str, list[ObjectListener]] = {}
        """Namespace -> who is told of what is in it."""
        self.elsewhere: set[Resource] = set()
        """Kinds that are served in other versions than ours."""
        self.watched: set[Resource] = set()

    def watch(
        self,
        resource: Resource,
        listener: ObjectListener,
        *,
        namespace: str = "",
        selector: str = "",
        is_optional: bool = False,
    ) -> Subscription:
        del is_optional
        self.watched.add(resource)
        self.listeners.setdefault(namespace, []).append(listener)
        return super().watch(resource, listener, namespace=namespace, selector=selector)

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        if resource in self.elsewhere:
            raise KindNotServed(f"{resource.plural} are not served in that version")
        return super().get(resource, namespace, name)

    def list(self, resource: Resource, namespace: str = "", label_selector: str = "") -> ObjectList:
        if resource in self.elsewhere:
            raise KindNotServed(f"{resource.plural} are not served in that version")
        if resource in self.errors:
            raise self.errors[resource]
        if (resource, namespace) in self.errors_in:
            raise self.errors_in[resource, namespace]
        return super().list(resource, namespace, label_selector)


class Desk:
    def __init__(
        self,
        namespaces: tuple[str, ...] = (),
        job_kinds: tuple[str, ...] = ("RayJob", "TrainJob"),
        pods: Mapping[Resource, tuple[WatchedKind, ...]] | None = None,
    ) -> None:
        self.server = Server()
        kinds = {name: ADAPTERS[name].watching for name in job_kinds}
        self.synced = SyncedKinds(max(1, len(namespaces)), tuple(kinds.values()))
        self.around = EventHandlers(
            own_door(),
            Inbox(),
            ObjectCache(),
            Confirmations(),
            kinds,
            self.synced.note,
            pods=pods or {},
        )
        stopping = threading.Event()
        stopping.wait = lambda _=None: False  # type: ignore[method-assign,assignment] # no time
        self.watches = KindWatches(
            cluster=self.server,
            watches=self.server,
            around=self.around,
            synced=self.synced,
            namespaces=namespaces,
            stopping=stopping,
        )
        self.watches.start()
        self.server.deliver()

    def ask(self) -> None:
        self.watches.ask()
        self.server.deliver()

    def look_around(self) -> None:
        """Do as the service does from time to time."""
        self.watches.ask_once()
        self.watches.watch_pods_once()
        self.watches.ask_for_unwatched()
        self.server.deliver()
