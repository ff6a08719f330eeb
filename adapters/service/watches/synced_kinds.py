"""Which of the kinds that are watched have been listed completely."""

import threading
from collections.abc import Iterable, Sequence

from jobledger.adapters.service.watches.event_handlers import KindWatching, WatchedKind


class SyncedKinds:
    """Which kinds have been listed completely, in every namespace that is watched."""

    def __init__(self, lists_per_kind: int, kinds: Sequence[KindWatching]) -> None:
        """Take how many watches list a kind, and the kinds of job."""
        self._kinds = {kind.name: kind for kind in kinds}
        self._lock = threading.Lock()
        self._lists_per_kind = lists_per_kind
        self._expected: dict[str, int] = {}
        """Kind -> how many watches list it."""
        self._listed: dict[str, set[int]] = {}
        """Kind -> which of them have; a watch may list again before another has listed at all."""
        self.all = threading.Event()
        """Set while all that is watched has been listed."""
        if len(kinds) == 1:
            self.expect(kinds[0].watched)  # of several, those that are served

    def expect(self, kinds: Iterable[WatchedKind]) -> None:
        """Take note of kinds that are watched from now on."""
        with self._lock:
            for kind in kinds:
                self._expected[kind.name] = 1 if kind.is_cluster_wide else self._lists_per_kind
                self._listed[kind.name] = set()
            self.all.clear()

    def note(self, kind: str, watch: int = 0) -> None:
        """Take note of one complete list of a kind, by which of its watches (one per namespace)."""
        with self._lock:
            self._listed[kind].add(watch)
            if all(self._is_listed(name) for name in self._expected):
                self.all.set()

    def missing(self) -> list[str]:
        """Return the kinds that are not listed yet."""
        with self._lock:
            return sorted(kind for kind in self._expected if not self._is_listed(kind))

    def unlisted(self) -> list[str]:
        """Return the kinds of job whose jobs are not listed yet, watched or not."""
        with self._lock:
            kinds = self._kinds.items()
            return [name for name, kind in kinds if not self._is_listed(kind.watched[0].name)]

    def has_listed(self, job_kind: str) -> bool:
        """Return whether all that is watched for a kind of job has been listed."""
        kind = self._kinds.get(job_kind)
        with self._lock:
            return kind is not None and all(self._is_listed(one.name) for one in kind.watched)

    def _is_listed(self, kind: str) -> bool:
        return kind in self._expected and len(self._listed[kind]) >= self._expected[kind]
