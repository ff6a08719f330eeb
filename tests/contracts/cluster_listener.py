"""A listener that remembers what a watch told it, and waits for more."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.instants import Instant

TELLING_LIMIT_SECONDS = 60.0
"""How long a test waits to be told something before it fails."""


@dataclass(frozen=True)
class Told:
    """One call of the listener."""

    what: str
    """seen, gone, synced or interrupted."""
    manifest: Manifest
    at: Instant
    since: Instant | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        return text(self.manifest, "metadata", "name")

    @property
    def uid(self) -> str:
        return text(self.manifest, "metadata", "uid")

    @property
    def short(self) -> str:
        return f"{self.what} {self.name}".strip()


class RecordingListener:
    """Implements `core.ports.cluster.ObjectListener` by remembering."""

    def __init__(self, tell: Callable[[], object] = lambda: None) -> None:
        """Take what has watches tell that do not do so by themselves."""
        self._tell = tell
        self._told: list[Told] = []
        self._changed = threading.Condition()

    def seen(self, manifest: Manifest, at: Instant) -> None:
        self._note(Told("seen", manifest, at))

    def gone(self, manifest: Manifest, at: Instant) -> None:
        self._note(Told("gone", manifest, at))

    def synced(self, at: Instant) -> None:
        self._note(Told("synced", {}, at))

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        self._note(Told("interrupted", {}, until, since, reason))

    @property
    def told(self) -> list[Told]:
        with self._changed:
            return list(self._told)

    @property
    def story(self) -> list[str]:
        """What was told, in words."""
        return [told.short for told in self.told]

    def wait_until(self, condition: Callable[[list[Told]], bool], why: str) -> list[Told]:
        """Return all that was told once the condition holds; fail after a while."""
        self._tell()
        with self._changed:
            came = self._changed.wait_for(lambda: condition(self._told), TELLING_LIMIT_SECONDS)
            assert came, f"waited for {why}; was told {[told.short for told in self._told]}"
            return list(self._told)

    def wait_for(self, *story: str) -> list[Told]:
        """Return what was told up to the last of these, once they were told in this order."""
        wanted = ", ".join(story)
        told = self.wait_until(lambda told: _end_of(story, told) is not None, wanted)
        return told[: _end_of(story, told)]

    def _note(self, told: Told) -> None:
        with self._changed:
            self._told.append(told)
            self._changed.notify_all()


def _end_of(story: tuple[str, ...], told: list[Told]) -> int | None:
    """Return how much was told when the last of the story was, or None if it was not yet."""
    position = 0
    for wanted in story:
        while position < len(told) and told[position].short != wanted:
            position += 1
        if position == len(told):
            return None
        position += 1
    return position
