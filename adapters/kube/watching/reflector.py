"""Keeps a listener informed of every object of a kind: list, watch, resume, list again.

Two states. *Listing*: everything is read and told, then what has vanished, then `synced`.
*Watching*: changes are told from the list's resourceVersion on; when a watch ends, for whatever
reason, it is resumed from the newest resourceVersion that was told or bookmarked, so nothing is
missed. Only when the server cannot resume from there (410), or what it sends cannot be read again
and again, is everything listed anew: then intermediate states may have been missed, and the
listener is told so (`interrupted`) before it is told the new state.

A server whose etcd was restored from a backup counts from an earlier version on. A watch from a
version that it has not reached is opened and says nothing, not even that it cannot be: so before a
watch is resumed the server is asked at which version it is, and if that is an earlier one,
everything is listed anew.

A watch is at-least-once: an object may be told again, or in an older form after a newer one.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import ParamSpec

import structlog

from jobledger.adapters.kube.decoding import ObjectDecoder, WatchLine
from jobledger.adapters.kube.errors import UnreadableAnswer, event_error, unreadable
from jobledger.adapters.kube.transport import Transport
from jobledger.adapters.kube.watching.health import WatchHealth
from jobledger.adapters.kube.watching.initial_events import initial_events
from jobledger.adapters.kube.watching.known_objects import KnownObjects
from jobledger.adapters.kube.watching.listing import Selection, newest_version, page_of, pages
from jobledger.adapters.kube.watching.stream import WatchStream
from jobledger.adapters.kube.watching.timing import Backoff, WatchTiming
from jobledger.core.errors import (
    ClusterError,
    ClusterUnreachable,
    ObjectNotFound,
    RequestInvalid,
    RequestThrottled,
    VersionExpired,
)
from jobledger.core.ports.cluster import ObjectListener
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.instants import Instant

UNREADABLE_TIMES = 3
"""So often the same place of a watch is tried again; then it is passed by a new list."""

AT_ONCE_SECONDS = 1.0
"""A watch that lasted less and brought nothing is none, as client-go judges: who ends it may hold
back what there is to be told."""

AT_ONCE_MAX = 3
"""So often in a row a watch that was ended at once, and brought something, is resumed at once."""

RELIST_SECONDS = 120.0
"""Watches that could not be resumed, and lasted less, make each new list wait longer."""

VERSION_SECONDS, VERSION_SECONDS_MIN = 30.0, 10.0
"""So often the server is asked at which version it is, before a watch is resumed; and so often if
it could not be reached, as it may be another since."""

P = ParamSpec("P")

_log = structlog.get_logger(__name__)


class Reflector:
    """One watch for ever, on a thread of its own. Implements `core.ports.cluster.Subscription`."""

    def __init__(
        self,
        transport: Transport,
        selection: Selection,
        listener: ObjectListener,
        decoder: ObjectDecoder,
        timing: WatchTiming,
    ) -> None:
        """Take what to watch and whom to tell; nothing happens before `start`."""
        self.health = WatchHealth()
        self._transport = transport
        self._selection = selection
        self._listener = listener
        self._decoder = decoder
        self._clock = timing.clock
        self._random = timing.random
        self._pace = timing.pace
        self._backoff, self._list_backoff = (
            Backoff(
                timing.random,
                first_seconds=timing.pace.first_pause_seconds,
                cap_seconds=timing.pace.longest_pause_seconds,
            )
            for _ in range(2)
        )
        self._fields = {"resource": selection.resource.plural, "namespace": selection.namespace}
        self._known = KnownObjects(selection.resource)
        self._current_until: Instant | None = None
        self._list_reason = "first list"
        """Why everything is to be listed before the next watch; empty if it is not."""
        self._page_limit = timing.pace.page_limit
        self._may_stream = True
        """Whether a long list may be asked for as the beginning of a watch."""
        self._unreadable_times = 0
        self._short_watches = 0
        self._version_known_at = float("-inf")
        """Monotonic instant at which the server said last at which version it is."""
        self._was_away = False
        """Whether it could not be reached since."""
        self._stream: WatchStream | None = None
        self._stopping = threading.Event()
        self._gate = threading.RLock()
        self._thread = threading.Thread(
            target=self._run, name=f"watch-{selection.resource.plural}", daemon=True
        )

    @property
    def alive(self) -> bool:
        """Whether its thread runs; it does from `start` to `stop`, whatever happens."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin, once."""
        self._thread.start()

    def stop(self) -> None:
        """End it; nothing is told after this returns. Calling it twice does no harm."""
        with self._gate:
            self._stopping.set()
        stream = self._stream
        if stream is not None:
            stream.interrupt()
        if self._thread is threading.current_thread() or not self._thread.is_alive():
            return
        self._thread.join(self._pace.stop_seconds)
        if self._thread.is_alive():
            # It waits for the first byte of an answer, and ends when that times out.
            _log.warning("watch_thread_left_behind", **self._fields)

    def _run(self) -> None:
        while not self._stopping.is_set():
            pause = self.run_once()
            self.health.pause_seconds = pause
            self._stopping.wait(pause)
            self.health.pause_seconds = 0.0

    def run_once(self) -> float:
        """List, or watch until the watch ends; return the pause before the next, in seconds."""
        listing = bool(self._list_reason)
        try:
            pause = self._list() if listing else self._watch()
            self.health.last_error = ""
        except Exception as failure:  # noqa: BLE001  # the watch must outlive whatever happens
            return self._after(failure, listing=listing)
        return pause

    def _list(self) -> float:
        """Tell all that exists and what no longer does; return the pause before the watch."""
        present: set[str] = set()
        version = ""
        shown_at = None
        for told_version, objects in self._everything(present):
            at, version = self._contact(), version or told_version
            if shown_at is None:
                shown_at = at
                self._tell_of_gap(at)
            for manifest in objects:
                present.add(self._known.note(manifest))
                self._tell(self._listener.seen, manifest, at)
        at = self._clock.now()
        for manifest in self._known.take_missing(present):
            self._tell(self._listener.gone, manifest, at)
        self.health.relists += self._current_until is not None
        self.health.resource_version = version
        self._current_until = shown_at
        self._list_reason, self._version_known_at = "", self._clock.monotonic()
        self._page_limit = self._pace.page_limit
        self._unreadable_times = 0
        self.health.synced = True
        self._tell(self._listener.synced, at)
        return 0.0

    def _everything(self, present: set[str]) -> Iterator[tuple[str, Iterable[Manifest]]]:
        """Yield all that exists, in parts; and at which version, once that is known.

        What is no page long is asked for as the beginning of a watch: that the server sends out of
        its memory, where pages cost it a look into etcd each. One that does not is asked for pages.
        """
        about = self._selection.about
        first = page_of(self._transport, self._selection, self._page_limit)
        if first.metadata.continue_token and self._may_stream:
            try:
                stream = self._opened("")
            except RequestThrottled:
                raise
            except ClusterError:
                pass  # it does not know how, or not now
            else:
                yield from self._streamed(stream, present)
                return
        for page in pages(self._transport, self._selection, self._page_limit, first):
            objects = (self._decoder.object(about, raw) for raw in page.items or ())
            yield page.metadata.resourceVersion, objects
        self._may_stream = True

    def _streamed(
        self, stream: WatchStream, present: set[str]
    ) -> Iterator[tuple[str, Iterable[Manifest]]]:
        """Yield what a watch begins with; after one that breaks off pages are asked for."""
        self._stream, self._may_stream = stream, False
        try:
            yield from initial_events(stream, self._decoder, self._selection.about, present)
        finally:
            self._stream = None
            stream.close()
        self._may_stream = True

    def _tell_of_gap(self, until: Instant) -> None:
        """Tell that changes may have been missed, but for the first list, before which none were.

        A list that breaks off and is begun again tells the rest of the gap.
        """
        if self._current_until is not None:
            since, self._current_until = self._current_until, until
            self._tell(self._listener.interrupted, since, until, self._list_reason)

    def _watch(self) -> float:
        """Tell what changes until the server ends the watch; return the pause before the next."""
        version = self.health.resource_version
        if self._went_back():
            return 0.0
        stream = self._opened(version)
        begun = self._clock.monotonic()
        self._stream = stream
        try:
            if self._stopping.is_set():  # after the stream was set, lest `stop` missed it
                return 0.0
            self._contact()
            self._tell_lines(stream)
            self._current_until = self._contact()
        except ClusterUnreachable:
            # Broken off, or silent for too long, after it had worked. Whether anybody is there
            # shows when it is opened anew, which is to be at once.
            if not self._has_worked(begun):
                raise
        finally:
            self._stream = None
            stream.close()
            self._lasted(begun)
        if self._has_worked(begun):
            return 0.0
        if self.health.resource_version != version:
            return self._after_short_news()
        if self._clock.monotonic() - begun < AT_ONCE_SECONDS:
            raise unreadable(self._selection.about, "the watch ended at once and brought nothing")
        return self._backoff.next_seconds()

    def _opened(self, version: str) -> WatchStream:
        try:
            return WatchStream.open(
                self._transport,
                self._selection,
                resource_version=version,
                server_timeout_seconds=int(self._pace.watch_seconds * (1 + self._random() / 5)),
                read_timeout_seconds=self._pace.silence_seconds,
            )
        except ClusterUnreachable:
            self._was_away = True
            raise

    def _went_back(self) -> bool:
        """Return whether the server is at an earlier version than it was; then all is listed anew.

        It is not noticed of a server that has come as far again before it was asked.
        """
        pause = VERSION_SECONDS_MIN if self._was_away else VERSION_SECONDS
        if self._clock.monotonic() - self._version_known_at < pause:
            return False
        told = self.health.resource_version
        now = newest_version(self._transport, self._selection)
        self._version_known_at, self._was_away = self._clock.monotonic(), False
        if not _is_older(now, told):
            return False
        reason = f"the API server is at version {now} and was at {told}: its etcd was restored"
        _log.warning("watch_went_back", **self._fields, now=now, told=told)
        self._list_reason, self.health.synced = reason, False
        return True

    def _after_short_news(self) -> float:
        """Return the pause after a watch that brought something and was ended at once.

        It is resumed at once a few times. Then it waits, though not so long as one that brought
        nothing: something ends every watch, and each brings what came meanwhile.
        """
        self._short_watches += 1
        if self._short_watches <= AT_ONCE_MAX:
            return 0.0
        return min(self._backoff.next_seconds(), self._pace.healthy_seconds)

    def _has_worked(self, begun: float) -> bool:
        """Return whether a watch that was opened then has lasted long enough to be healthy."""
        enough = min(self._pace.healthy_seconds, self._pace.silence_seconds)
        return self._clock.monotonic() - begun >= enough

    def _lasted(self, begun: float) -> None:
        """Begin with the first pause again after a watch that worked.

        Before a new list it must have lasted longer: a list costs more.
        """
        if self._has_worked(begun):
            self._backoff.reset()
            self._short_watches = 0
        if self._clock.monotonic() - begun >= RELIST_SECONDS:
            self._list_backoff.reset()

    def _tell_lines(self, stream: WatchStream) -> None:
        what = self._selection.about
        for line in stream.lines():
            told = self._decoder.line(what, line)
            at = self._contact()
            match told.type:
                case "ADDED" | "MODIFIED":
                    self._known.note(told.object)
                    self._tell(self._listener.seen, told.object, at)
                case "DELETED":
                    self._known.forget(told.object)
                    self._tell(self._listener.gone, told.object, at)
                case "BOOKMARK":
                    pass
                case "ERROR":
                    failure = event_error(what, told.object)
                    self._list_reason = str(failure)  # whatever it is, this watch is no good
                    raise failure
                case _:
                    raise unreadable(what, "a watch event of an unknown type")
            self._follow(told, at)

    def _follow(self, told: WatchLine, at: Instant) -> None:
        """Note that all up to this event was told: here the watch would be resumed."""
        self._current_until = at
        found, newest = (
            text(told.object, "metadata", "resourceVersion"),
            self.health.resource_version,
        )
        if found and found != newest and not _is_older(found, newest):
            self.health.resource_version = found
            self._unreadable_times = 0

    def _after(self, failure: Exception, *, listing: bool) -> float:
        """Decide where to go on after a failure; return the pause before that."""
        reason = ""
        match failure:
            case VersionExpired() if listing:
                # The state was forgotten between two pages: ask for all at once, as client-go does.
                self._page_limit = 0
            case VersionExpired() | ObjectNotFound() | RequestInvalid():
                reason = str(failure)
            case UnreadableAnswer():
                self._unreadable_times += 1
                reason = str(failure) if self._unreadable_times >= UNREADABLE_TIMES else ""
            case ClusterError():
                pass
            case _:
                _log.error("watch_failed_unexpectedly", **self._fields, exc_info=failure)
        self._list_reason = self._list_reason or reason
        self.health.synced = self.health.synced and not self._list_reason
        self.health.last_error = str(failure)
        pause = self._backoff.next_seconds()
        if self._list_reason:
            pause = max(pause, self._list_backoff.next_seconds())
        if isinstance(failure, RequestThrottled) and failure.retry_after_seconds is not None:
            pause = max(pause, failure.retry_after_seconds)
        return pause

    def _contact(self) -> Instant:
        """Note that the server has said something, and return when."""
        at = self._clock.now()
        self.health.last_error = ""
        return at

    def _tell(self, tell: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Tell the listener, unless the watch is stopped; no failure of its own stops the rest."""
        with self._gate:
            if self._stopping.is_set():
                return
            try:
                tell(*args, **kwargs)
            except Exception as failure:  # noqa: BLE001  # one strange object must not hide others
                _log.error("watch_listener_failed", **self._fields, exc_info=failure)


def _is_older(found: str, newest: str) -> bool:
    """Tell whether a resourceVersion is known to precede another.

    Source: since Kubernetes 1.35 they are promised to be ordered numbers; before, they were.
    """
    return found.isdecimal() and newest.isdecimal() and int(found) < int(newest)
