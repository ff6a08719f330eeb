"""The cluster in memory, whose watches tell only when asked to: no threads, any time of day."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator

from jobledger.core.ports.cluster import ObjectListener, Resource
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant
from tests.support.memory_cluster import Mailbox, MemoryCluster, call
from tests.support.memory_kinds import RAYJOB_KIND, without_status_fields


class SteppedCluster(MemoryCluster):
    """`deliver` tells the listeners what has happened since; `disconnect` forgets them."""

    collects_at_once = False

    def __init__(self, now: Callable[[], Instant], *, admits_all: bool = False) -> None:
        super().__init__(now, admits_all=admits_all)
        self.lagging: set[Resource] = set()
        """Kinds whose watches tell nothing for now."""
        self._mailboxes: list[_Stepped] = []
        self._held_back: list[_Stepped] = []
        """Single watches that tell nothing for now."""

    def prune(self, *fields: str) -> None:
        """Go on as an API server whose CRD of RayJobs does not have these fields of the status."""
        kind = self._kinds.find(*RAYJOB_KIND)
        assert kind is not None
        self._kinds.serve([without_status_fields(kind, frozenset(fields))])

    def peek(self, resource: Resource) -> list[Manifest]:
        """Return the objects of a kind themselves, not to be changed: a list copies them."""
        kind = self._kind(resource)
        return [version.document for version in self._storage.versions(kind.storage)]

    def deliver(self) -> bool:
        """Tell everything that waits; return whether there was anything."""
        self.collect()
        lagging = {id(item) for item in self._held_back}
        ready = [
            item
            for item in self._mailboxes
            if item.resource not in self.lagging and id(item) not in lagging
        ]
        told = [mailbox.deliver() for mailbox in ready]
        return any(told)

    def hold_back(self, resource: Resource) -> Callable[[], None]:
        """Let the watch of a kind that was opened last lag; return what lets it go on."""
        mailbox = [item for item in self._mailboxes if item.resource == resource][-1]
        self._held_back.append(mailbox)
        return lambda: self._held_back.remove(mailbox)

    @contextlib.contextmanager
    def unheard(self) -> Iterator[None]:
        """Tell no watch of what happens meanwhile."""
        watchers, self._watchers = self._watchers, []
        yield
        self._watchers = watchers

    def disconnect(self) -> None:
        """Forget all watches, as when their process is gone."""
        self._watchers.clear()
        self._mailboxes.clear()

    def _mailbox(self, resource: Resource, listener: ObjectListener) -> Mailbox:
        mailbox = _Stepped(resource, listener, self._now)
        self._mailboxes.append(mailbox)
        return mailbox


class _Stepped(Mailbox):
    """Tells when it is asked to."""

    def __init__(
        self, resource: Resource, listener: ObjectListener, now: Callable[[], Instant]
    ) -> None:
        self.resource = resource
        self._listener, self._now = listener, now
        self._news: deque[tuple[str, Manifest]] = deque()
        self._stopped = False

    def put(self, news: str, document: Manifest) -> None:
        if not self._stopped:
            self._news.append((news, document))

    def stop(self) -> None:
        self._stopped = True
        self._news.clear()

    def deliver(self) -> bool:
        """Tell everything that waits; return whether there was anything."""
        count = len(self._news)
        while self._news:
            call(self._listener, *self._news.popleft(), self._now())
        return count > 0
