"""What happens to objects from a revision on, as lines of JSON."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

from jobledger.sandbox.faults import Faults
from jobledger.sandbox.http.representations import Representation
from jobledger.sandbox.model.documents import Document, encode
from jobledger.sandbox.model.kinds import Kind
from jobledger.sandbox.model.queries import is_asked
from jobledger.sandbox.model.refusals import Refusal, bad_request, expired, from_the_future
from jobledger.sandbox.model.selectors import Test, selection
from jobledger.sandbox.model.storage import Change, Shelf, Storage, Version
from jobledger.sandbox.model.targets import Target

BOOKMARK_SECONDS: Final = 60.0
"""How often a watch that asks for bookmarks gets one.

Source: k8s.io/apiserver pkg/storage/cacher, about once a minute and two seconds before the end.
"""
LAST_BOOKMARK_SECONDS: Final = 2.0
"""How long before a watch's end its last bookmark comes."""
SHORTEST_TIMEOUT_SECONDS: Final = 1800
"""A watch that names no time-out ends by chance between once and twice this."""
MOST_LINES: Final = 200
"""Lines in one piece of the answer."""


class WatchDropped(Exception):
    """The connection is to be cut, without a proper end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """The query of a watch, checked."""

    chosen: Test | None
    revision: str
    timeout_seconds: float
    bookmarks: bool
    initial_events: bool


def watch_options(target: Target, query: Mapping[str, str]) -> WatchOptions:
    """Return what a watch asks for; an object's own address selects it by name.

    Raises:
        Refusal: 400, it cannot be read.
    """
    fields = query.get("fieldSelector", "")
    if target.name:
        fields = ",".join(filter(None, (fields, f"metadata.name={target.name}")))
    revision = query.get("resourceVersion", "")
    timeout = query.get("timeoutSeconds") or "0"
    if (revision and not revision.isdigit()) or not timeout.isdigit():
        raise bad_request(f'Invalid value: "{revision}": resourceVersion: invalid syntax')
    by_chance = SHORTEST_TIMEOUT_SECONDS + secrets.randbelow(SHORTEST_TIMEOUT_SECONDS)
    return WatchOptions(
        chosen=selection(target.kind, query.get("labelSelector", ""), fields),
        revision=revision,
        timeout_seconds=float(int(timeout) or by_chance),
        bookmarks=is_asked(query, "allowWatchBookmarks"),
        initial_events=is_asked(query, "sendInitialEvents"),
    )


class Watcher:
    """One open watch."""

    def __init__(
        self,
        storage: Storage,
        faults: Faults,
        target: Target,
        options: WatchOptions,
        form: Representation,
    ) -> None:
        self._storage, self._faults = storage, faults
        self._target, self._options, self._form = target, options, form
        self._kind: Kind = target.kind
        self._shelf: Shelf = storage.shelf(self._kind.storage)
        self._news = asyncio.Event()
        self._closing = False
        self._first = True

    def close(self) -> None:
        """End the watch properly, soon."""
        self._closing = True
        self._news.set()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines of the watch until its time-out, `close`, or a fault."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._news.set)

        stop_listening = self._faults.listen(self._news)
        self._shelf.listeners.add(wake)
        try:
            async for piece in self._run():
                yield piece
        finally:
            self._shelf.listeners.discard(wake)
            stop_listening()

    async def _run(self) -> AsyncIterator[bytes]:
        interrupted = self._faults.interruptions
        begin = self._begin()
        if isinstance(begin, Refusal):
            yield _line("ERROR", begin.status)
            return
        position, opening = begin
        if opening:
            yield opening
        end = time.monotonic() + self._options.timeout_seconds
        bookmark = self._next_bookmark(end)
        while not self._closing:
            self._news.clear()
            changes = [] if self._faults.held else self._shelf.since(position)
            if changes is None or self._faults.interruptions[1] != interrupted[1]:
                yield _line("ERROR", expired(self._options.revision, self._shelf.floor).status)
                return
            if self._faults.interruptions[0] != interrupted[0]:
                raise WatchDropped
            changes = changes[:MOST_LINES]
            position += len(changes)
            piece = b"".join(self._lines_of(change) for change in changes)
            if piece:
                yield piece
            if time.monotonic() >= end:
                return
            if changes:
                continue
            if time.monotonic() >= bookmark and not self._faults.held:
                yield self._bookmark()
                bookmark = self._next_bookmark(end)
            await self._wait(min(end, bookmark))

    async def _wait(self, until: float) -> None:
        """Wait for news, at most until an instant of the monotonic clock."""
        try:
            await asyncio.wait_for(self._news.wait(), max(until - time.monotonic(), 0))
        except TimeoutError:
            return

    def _begin(self) -> tuple[int, bytes] | Refusal:
        """Return where to go on from and what to tell first, or why that is impossible."""
        asked = int(self._options.revision or 0)
        with self._storage.lock:
            if self._options.initial_events or not asked:
                return self._shelf.position_after(self._storage.revision), self._present()
            if asked > self._storage.revision:
                return from_the_future(asked, self._storage.revision)
            if asked < self._shelf.floor or self._faults.take_expiry():
                return expired(asked, self._shelf.floor)
            return self._shelf.position_after(asked), b""

    def _present(self) -> bytes:
        """Return every object there is, as if it had just been created."""
        versions = self._storage.versions(self._kind.storage, self._target.namespace)
        text = b"".join(
            self._told(Change("ADDED", version, None))
            for version in versions
            if self._is_chosen(version.document)
        )
        if self._options.initial_events and self._options.bookmarks:
            text += self._bookmark({"annotations": {"k8s.io/initial-events-end": "true"}})
        return text

    def _is_chosen(self, document: Document) -> bool:
        return self._options.chosen is None or self._options.chosen(document)

    def _lines_of(self, change: Change) -> bytes:
        """Return the line of a change as this watch sees it; nothing if it does not concern it."""
        document = change.version.document
        space = self._target.namespace
        if space and document["metadata"].get("namespace", "") != space:
            return b""
        is_in = change.type != "DELETED" and self._is_chosen(document)
        was_in = change.before is not None and self._is_chosen(change.before)
        if is_in:
            told = Change("MODIFIED" if was_in else "ADDED", change.version, None)
        elif was_in:
            told = self._left(change)
        else:
            return b""
        return self._told(told) * (2 if self._faults.take_repeat() else 1)

    def _left(self, change: Change) -> Change:
        """Return the change of an object that is no longer chosen: its state before, deleted."""
        if change.type == "DELETED" or change.before is None:
            return change
        before, revision = change.before, change.version.revision
        metadata = before["metadata"] | {"resourceVersion": str(revision)}
        return Change("DELETED", Version(before | {"metadata": metadata}, revision), None)

    def _told(self, change: Change) -> bytes:
        line = self._form.event(self._kind, change, first=self._first)
        self._first = False
        return line

    def _next_bookmark(self, end: float) -> float:
        """Return when the next bookmark is due; never, if none are asked for."""
        if not self._options.bookmarks:
            return float("inf")
        now = time.monotonic()
        last = end - LAST_BOOKMARK_SECONDS
        return min(now + BOOKMARK_SECONDS, last) if last > now else float("inf")

    def _bookmark(self, more: Document | None = None) -> bytes:
        """Return the line that only says how far the watch has come."""
        revision = str(self._storage.revision)
        metadata: Document = {"resourceVersion": revision, "creationTimestamp": None}
        empty: Document = {
            "kind": self._kind.kind,
            "apiVersion": self._kind.api_version,
            "metadata": metadata | (more or {}),
        }
        if self._form.form == "table":
            empty = {
                "kind": "Table",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": {"resourceVersion": revision},
                "columnDefinitions": None,
                "rows": [{"cells": [], "object": empty}],
            }
        return _line("BOOKMARK", empty)


def _line(kind: str, document: Document) -> bytes:
    return encode({"type": kind, "object": document}) + b"\n"
