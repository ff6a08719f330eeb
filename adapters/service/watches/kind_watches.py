"""Starts the watches of every served kind, and of the objects that plugins watch."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from jobledger.adapters.service.watches.ending import end_all
from jobledger.adapters.service.watches.event_handlers import (
    EventHandlers,
    KindWatching,
    WatchedKind,
)
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import ClusterError, KindNotServed, ObjectNotFound, RequestForbidden
from jobledger.core.ports.cluster import Cluster, Resource, Subscription, Watches

log = get_logger(__name__)

ASK_AGAIN_SECONDS, ASK_AGAIN_SECONDS_MAX = 1.0, 10.0
"""Pauses after an API server did not tell which kinds it serves: they double."""

FOR_EVIDENCE = (
    "Pods that go within seconds of their failure leave no log until it may: give it the part of "
    "ops/rbac.yaml for evidence"
)


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
        self.on_all: Callable[[], None] = lambda: None
        """Called when that is so again: what waited for a kind may go on."""
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
            is_news = not self.all.is_set() and all(map(self._is_listed, self._expected))
            if is_news:
                self.all.set()  # in one step with the look: `expect` may come from another thread
        if is_news:
            self.on_all()

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


class KindWatches:
    """Starts the watches, and stops them."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        watches: Watches,
        around: EventHandlers,
        synced: SyncedKinds,
        namespaces: tuple[str, ...],
        stopping: threading.Event,
    ) -> None:
        self._cluster, self._watches = cluster, watches
        self._around, self._synced = around, synced
        self._namespaces, self._stopping = namespaces, stopping
        self._job_kinds = tuple(around.kinds)
        self._unwatched = list(self._job_kinds)
        """Kinds of job that are not watched: the API server does not know them (yet)."""
        self._optional: list[tuple[str, WatchedKind]] = []
        """What would be watched for a kind of job that is, and is not served (yet)."""
        self._lacking: dict[str, list[str]] = {}
        """Kind of job that is there -> kinds it needs that are not served, or not to be listed."""
        self._unserved: dict[str, list[str]] = {}
        """Kind of job -> kinds of which was said that they are not served."""
        self._forbidden: set[tuple[str, Resource]] = set()
        """Kinds of which was said that they may not be listed, each with whose they are."""
        self._subscriptions: list[Subscription] = []
        self._pods_watched: set[str] = set()
        """What is watched of Pods."""
        self._pods_refused: dict[str, str] = {}
        """What is not, and why, as it was said."""
        self._pods_are_due = bool(around.pods)
        """Whether they are to be watched, once all else is listed."""
        self._lock = threading.Lock()
        self._unclear = Repeated(log, "kinds_unclear", time.monotonic)
        self._trouble = ""
        """The latest error in asking which kinds are served."""
        self._pause = ASK_AGAIN_SECONDS
        self.needs_no_look = False
        """Whether it is known which kinds of job are served now."""

    def start(self) -> None:
        """Start the watches of the only kind of job; which of several are served is asked first."""
        if len(self._job_kinds) > 1:
            return
        with self._lock:
            (only,) = self._job_kinds
            self._unwatched.clear()
            self._watch(self._take_up(only))
            self.needs_no_look = not self._optional

    def waits_for(self) -> list[str]:
        """Return what has to be there before any job can be worked on; empty if it is."""
        if not self.needs_no_look:
            return [f"no list of {kind} objects yet" for kind in self._unwatched]
        if len(self._unwatched) < len(self._job_kinds):
            return []
        kinds = ", ".join(self._job_kinds)
        return [f"none of the kinds of job is served, or may be listed: {kinds}"]

    def troubles(self) -> list[str]:
        """Return why it is not known which kinds are served; empty if it is."""
        return [self._trouble] if self._trouble and not self.needs_no_look else []

    def notes(self) -> list[str]:
        """Return of which kind the jobs that are there are left alone, and for want of what."""
        return [
            f"{job_kind}s are left alone: {', '.join(lacking)} is not served, or may not be listed"
            for job_kind, lacking in sorted(self._lacking.items())
            if lacking
        ]

    def stop(self) -> None:
        """End all watches."""
        with self._lock:
            end_all(self._subscriptions)

    def ask_once(self) -> None:
        """Ask which other kinds are served, unless that was answered before."""
        if not self.needs_no_look and not self._stopping.is_set():
            self.ask()

    def watch_pods_once(self) -> None:
        """Watch Pods, once all else is listed, unless that was begun before."""
        if self._pods_are_due and self._synced.all.is_set():
            self._pods_are_due = False
            self._watch_pods()

    def ask_for_unwatched(self) -> None:
        """Carry out the duty of asking for what is not served, or may not be listed.

        A right that comes late is found as soon as a watch would have found it.
        """
        if not self.needs_no_look or self._stopping.is_set():
            return
        if self._unwatched:
            self.ask()
        elif self._pods_refused:
            self._watch_pods()

    def ask(self) -> None:
        """Start the watches of kinds that the API server knows by now.

        A definition that is installed later is found later. Where the API server does not answer,
        nothing is known, and it is asked again.
        """
        try:
            for job_kind in list(self._unwatched):
                self._ask_for(job_kind)
            for job_kind, kind in list(self._optional):
                self._ask_for_more(job_kind, kind)
        except ClusterError as error:
            self._trouble = str(error)
            self._unclear.warn_of_one(error)
            self._stopping.wait(self._pause)
            self._pause = min(2 * self._pause, ASK_AGAIN_SECONDS_MAX)
            return
        self._pause = ASK_AGAIN_SECONDS
        self._unclear.over()
        self.needs_no_look = True
        if not self._pods_are_due:
            self._watch_pods()

    def _watch_pods(self) -> None:
        """Watch the Pods of all kinds that have been listed, if that is allowed; once is enough."""
        listed = [one for one in self._around.kinds.values() if self._synced.has_listed(one.name)]
        resources = dict.fromkeys(resource for kind in listed for resource in kind.pods_of)
        for watch in (one for made in resources for one in self._around.pods.get(made, ())):
            if watch.name in self._pods_watched or not self._may_be_watched(watch):
                continue
            with self._lock:
                if watch.name not in self._pods_watched and not self._stopping.is_set():
                    self._pods_watched.add(watch.name)
                    self._watch([watch])

    def _may_be_watched(self, kind: WatchedKind) -> bool:
        """Return whether something of Pods may be watched; say once why not, and when it may."""

        def forbidden(_: Resource, error: RequestForbidden) -> None:
            self._tell_refused(kind, error, remedy=FOR_EVIDENCE)

        try:
            may = self._is_served(kind, forbidden)
        except ClusterError as error:
            self._tell_refused(kind, error)
            return False
        if may and self._pods_refused.pop(kind.name, ""):
            log.info("kind_watched", kind=kind.name)
        return may

    def _tell_refused(self, kind: WatchedKind, error: ClusterError, **more: str) -> None:
        """Say that what goes at once leaves no evidence; it is asked for again and again."""
        why = str(error)
        if self._pods_refused.get(kind.name) != why:
            self._pods_refused[kind.name] = why
            log.info("pods_not_watched", kind=kind.name, error=why, **more)

    def _ask_for(self, job_kind: str) -> None:
        own, *others = self._around.kinds[job_kind].watched
        is_there = self._serves(job_kind, own)
        if is_there:
            lacking = [one for one in others if not self._serves(job_kind, one)]
        else:
            lacking = [own] if self._is_in_other_versions(job_kind, own) else []
        self._tell_lacking(job_kind, lacking)
        if lacking or not is_there:
            return
        with self._lock:
            if job_kind not in self._unwatched or self._stopping.is_set():
                return
            self._unwatched.remove(job_kind)
            found = self._take_up(job_kind)
            self._synced.expect(found)
            self._watch(found)
        log.info("kind_watched", kind=job_kind)

    def _tell_lacking(self, job_kind: str, lacking: Sequence[WatchedKind]) -> None:
        """Say once that jobs which are there are left alone, for want of what belongs to them."""
        told = self._unserved.get(job_kind, [])
        self._lacking = {**self._lacking, job_kind: [kind.name for kind in lacking]}
        unserved = [
            f"{one.name} ({one.resource.api_version})"
            for one in lacking
            if (job_kind, one.resource) not in self._forbidden
        ]
        self._unserved[job_kind] = unserved
        if unserved and unserved != told:
            remedy = (
                f"{job_kind}s are left alone until it is: install its definition (ops/crds), or "
                f"have it serve that version, or leave {job_kind} out of JOBLEDGER_JOB_KINDS"
            )
            log.warning("kind_lacks", kind=job_kind, not_served=unserved, remedy=remedy)

    def _ask_for_more(self, job_kind: str, kind: WatchedKind) -> None:
        if not self._serves(job_kind, kind):
            return
        with self._lock:
            if (job_kind, kind) not in self._optional or self._stopping.is_set():
                return
            self._optional.remove((job_kind, kind))
            self._synced.expect([kind])
            self._watch([kind])
        log.info("kind_watched", kind=kind.name)

    def _take_up(self, job_kind: str) -> tuple[WatchedKind, ...]:
        """Return what has to be watched for a kind of job; note what would be, if it is served."""
        kind = self._around.kinds[job_kind]
        self._optional += [(job_kind, more) for more in kind.also_watched(self._around.mapper)]
        return kind.watched

    def _serves(self, job_kind: str, kind: WatchedKind) -> bool:
        """Return whether a kind of what a kind of job needs, or uses, may be watched."""
        refused: list[RequestForbidden] = []
        is_served = self._is_served(kind, lambda _, error: refused.append(error))
        if refused:
            self._tell_forbidden(job_kind, kind, refused[0])
        else:
            self._forbidden.discard((job_kind, kind.resource))
        return is_served

    def _is_in_other_versions(self, job_kind: str, own: WatchedKind) -> bool:
        """Return whether a kind of job that is not served is served in other versions.

        Then jobs may be there; where its definition is not installed there are none.
        """
        if (job_kind, own.resource) in self._forbidden:
            return False
        try:
            self._cluster.get(own.resource, self._places(own)[0] or "default", "none")
        except KindNotServed:
            return True
        except RequestForbidden:
            pass  # so it is not known
        return False

    def _is_served(
        self, kind: WatchedKind, forbidden: Callable[[Resource, RequestForbidden], None]
    ) -> bool:
        """Return whether a kind may be watched, asked for exactly where it would be watched.

        A right in one namespace says nothing of others. Raises as the cluster does.
        """
        places = self._places(kind)
        return all(is_served(self._cluster, kind.resource, one, forbidden) for one in places)

    def _places(self, kind: WatchedKind) -> tuple[str, ...]:
        """Return the namespaces in which a kind is watched; `""` is all of them in one watch."""
        return ("",) if kind.is_cluster_wide else self._namespaces or ("",)

    def _tell_forbidden(self, job_kind: str, kind: WatchedKind, error: RequestForbidden) -> None:
        """Say once that a kind may not be listed; it is asked for again and again.

        No warning where jobs can do without: rights are asked for before kinds are looked up, so an
        API server that has never heard of the kind answers the same.
        """
        if (job_kind, kind.resource) in self._forbidden:
            return
        self._forbidden.add((job_kind, kind.resource))
        say = log.info if kind.is_optional else log.warning
        remedy = (
            f"{job_kind}s are left alone until it may: give it the part of ops/rbac.yaml for them, "
            f"or leave {job_kind} out of JOBLEDGER_JOB_KINDS"
        )
        if kind.is_optional:
            remedy = (
                f"{job_kind}s can do without: what somebody deletes is made again with the next "
                "apply. Where it is installed and used, give it the part of ops/rbac.yaml for it"
            )
        say("kind_forbidden", kind=kind.name, error=str(error), remedy=remedy)

    def _watch(self, kinds: Iterable[WatchedKind]) -> None:
        for kind in kinds:
            for number, namespace in enumerate(self._places(kind)):
                told = partial(_note, self._synced, kind, number)
                listener = kind.listener(replace(self._around, synced=told, namespace=namespace))
                subscription = self._watches.watch(
                    kind.resource,
                    listener,
                    namespace=namespace,
                    selector=kind.selector,
                    is_optional=kind.is_optional,
                )
                self._subscriptions.append(subscription)


def _note(synced: SyncedKinds, kind: WatchedKind, watch: int, _: str) -> None:
    """Take note of a complete list under the name of the watch, whatever the listener says."""
    synced.note(kind.name, watch)


_NOTHING = "jobledger.dev/nothing=here"


def is_served(
    cluster: Cluster,
    resource: Resource,
    namespace: str,
    forbidden: Callable[[Resource, RequestForbidden], None],
) -> bool:
    """Return whether the API server knows a kind and lets it be listed; raises as the port.

    `forbidden` is told if it does not let it be listed.
    """
    try:
        cluster.list(resource, namespace=namespace, label_selector=_NOTHING)
    except ObjectNotFound:
        return False
    except RequestForbidden as error:
        forbidden(resource, error)
        return False
    return True
