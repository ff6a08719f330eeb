"""Which watches run: those of the first kind of job at once, the others if they are served."""

import threading
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from adapters.service.watched_kinds import WATCHED, WatchedKind, is_served, watched_for
from adapters.service.watching import Surroundings
from adapters.telemetry.logging import get_logger
from core.errors import ClusterError, RequestForbidden
from core.ports.cluster import Cluster, Resource, Subscription, Watches

log = get_logger(__name__)

ASK_AGAIN_SECONDS = 1.0
"""Pause after an API server did not tell which kinds it serves."""


class SyncedKinds:
    """Which kinds have been listed completely, in every namespace that is watched."""

    def __init__(self, lists_per_kind: int, job_kind: str = "RayJob") -> None:
        self._lock = threading.Lock()
        self._lists_per_kind = lists_per_kind
        self._expected: dict[str, int] = {}
        """Kind -> how many watches list it."""
        self._listed: dict[str, set[int]] = {}
        """Kind -> which of them have; a watch may list again before another has listed at all."""
        self.all = threading.Event()
        self.expect(WATCHED[job_kind])

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

    def has_listed(self, job_kind: str) -> bool:
        """Return whether all that is watched for a kind of job has been listed."""
        with self._lock:
            return all(self._is_listed(kind.name) for kind in WATCHED[job_kind])

    def _is_listed(self, kind: str) -> bool:
        return kind in self._expected and len(self._listed[kind]) >= self._expected[kind]


class KindWatches:
    """Starts the watches, and stops them."""

    def __init__(  # noqa: PLR0913 what watching needs
        self,
        *,
        cluster: Cluster,
        watches: Watches,
        around: Surroundings,
        synced: SyncedKinds,
        namespaces: tuple[str, ...],
        job_kinds: tuple[str, ...],
        stopping: threading.Event,
    ) -> None:
        self._cluster, self._watches = cluster, watches
        self._around, self._synced = around, synced
        self._namespaces, self._stopping = namespaces, stopping
        self._first = job_kinds[0]
        self._unwatched = list(job_kinds[1:])
        """Kinds of job that are not watched: the API server does not know them (yet)."""
        self._forbidden: set[Resource] = set()
        """Kinds of which was said that they may not be listed."""
        self._subscriptions: list[Subscription] = []
        self._lock = threading.Lock()
        self.is_settled = not self._unwatched
        """Whether it is known which kinds of job are served now."""

    def start(self) -> None:
        """Start the watches of the first kind of job."""
        with self._lock:
            self._watch(WATCHED[self._first])

    def stop(self) -> None:
        """End all watches."""
        with self._lock:
            for subscription in self._subscriptions:
                subscription.stop()

    def ask_once(self) -> None:
        """Ask which other kinds are served, unless that was answered before."""
        if not self.is_settled and not self._stopping.is_set():
            self.ask()

    def ask(self) -> None:
        """Start the watches of kinds of job that the API server knows by now.

        A definition that is installed later is found later. Where the API server does not answer,
        nothing is known, and it is asked again.
        """
        for job_kind in list(self._unwatched):
            try:
                found = self._served(job_kind)
            except ClusterError as error:
                log.warning("kind_unclear", kind=job_kind, error=str(error))
                self._stopping.wait(ASK_AGAIN_SECONDS)
                return
            with self._lock:
                if not found or job_kind not in self._unwatched or self._stopping.is_set():
                    continue
                self._unwatched.remove(job_kind)
                self._synced.expect(found)
                self._watch(found)
            log.info("kind_watched", kind=job_kind)
        self.is_settled = True

    def _served(self, job_kind: str) -> list[WatchedKind]:
        """Return what is watched for a kind of job; nothing, if what it needs is not served.

        Asked for exactly where it would be watched: a right in one says nothing of others.
        """
        found = []
        told = partial(self._tell_forbidden, job_kind)
        for kind in watched_for(job_kind, self._around.door.plugins):
            if all(
                is_served(self._cluster, kind.resource, place, told) for place in self._places(kind)
            ):
                found.append(kind)
            elif not kind.is_optional:
                return []
        return found

    def _places(self, kind: WatchedKind) -> tuple[str, ...]:
        """Return the namespaces in which a kind is watched; `""` is all of them in one watch."""
        return ("",) if kind.is_cluster_wide else self._namespaces or ("",)

    def _tell_forbidden(self, job_kind: str, resource: Resource, error: RequestForbidden) -> None:
        """Say once that a kind may not be listed; it is asked for again and again."""
        if resource in self._forbidden:
            return
        self._forbidden.add(resource)
        remedy = (
            f"{job_kind}s are left alone until it may: give it the part of ops/rbac.yaml for them, "
            f"or leave {job_kind} out of JOBLEDGER_JOB_KINDS"
        )
        log.warning("kind_forbidden", kind=resource.kind, error=str(error), remedy=remedy)

    def _watch(self, kinds: Iterable[WatchedKind]) -> None:
        for kind in kinds:
            for number, namespace in enumerate(self._places(kind)):
                note = partial(self._synced.note, watch=number)
                listener = kind.listener(replace(self._around, synced=note))
                subscription = self._watches.watch(
                    kind.resource, listener, namespace=namespace, selector=kind.selector
                )
                self._subscriptions.append(subscription)
