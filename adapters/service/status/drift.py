"""Detects that somebody else has changed a status, so that it is written again.

At once the first time, then ever more rarely: with another controller there is no write fight.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from jobledger.adapters.service.objects.object_cache import version_is_older
from jobledger.core.kinds import KINDS
from jobledger.core.log.chain import canonical
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId

_OURS = frozenset().union(*(kind.status_format.fields for kind in KINDS.values()))
"""The fields of the statuses of every kind of job that are written here."""

PAUSE_FIRST_SECONDS, PAUSE_MAX_SECONDS = 1.0, 300.0
OWN_MAX = 8
"""So many statuses that were sent or kept last are recognised: the watch may still tell of them."""
BEFORE_ALL = "0"
"""A version that every other comes after."""
CALM_SECONDS = 600.0
"""After so long without another's write the next one is mended at once again."""


def fingerprint(status: Manifest) -> bytes:
    """Return what tells whether the fields of a status that are ours are the same.

    A counter of 0 is the same as none: of a Job an API server leaves it out.
    """
    return digest_of({k: v for k, v in status.items() if k in _OURS and v != 0})


def digest_of(status: Manifest) -> bytes:
    """Return a digest of the canonical form of a status."""
    return blake2b(canonical(status), digest_size=16).digest()


@dataclass(slots=True)
class Kept:
    """What the API server kept of the last status that was written for one job."""

    version: str = ""
    """The resourceVersion it made; empty: nobody here knows what is kept."""
    _meant: bytes = b""
    """Digest of what was to be written then; a CRD may keep only a part of it."""
    _mark: bytes = b""
    _own: tuple[bytes, ...] = ()
    """Fingerprints of the statuses that were sent and kept last."""
    _seen: tuple[str, bytes] = ("", b"")
    """The newest version that others made, and its fingerprint."""
    _seen_before: str = ""
    """That version as it was when the last write was sent."""
    _mended: int = 0
    _mended_at: float = 0.0

    def note(self, version: str, status: Manifest, meant: bytes) -> None:
        """Take note of what was kept of a write, and of the digest of what was meant.

        A write that makes an earlier version than was seen before it was sent: etcd was restored,
        and what was seen is no more.
        """
        if version_is_older(version, self._seen_before):
            self._seen = "", b""
        self.version, self._mark = version, fingerprint(status)
        self._meant = meant
        self._add(self._mark)

    def sends(self, status: Manifest) -> None:
        """Take note of a status on its way: the watch may tell of it before the answer does."""
        self._seen_before = self._seen[0]
        self._add(fingerprint(status))

    def _add(self, mark: bytes) -> None:
        if mark not in self._own:
            self._own = (*self._own, mark)[-OWN_MAX:]

    def is_own(self, status: Manifest) -> bool:
        """Return whether this is one of the statuses that were written here last."""
        return fingerprint(status) in self._own

    def holds(self, meant: bytes) -> bool:
        """Return whether just this was written last, and nobody has changed what was kept of it.

        It is known by its digest.
        """
        return self.version != "" and self._meant == meant and not self.is_drifted()

    def see(self, version: str, status: Manifest, *, went_back: bool = False) -> None:
        """Take note of a version that the watch tells of; `went_back`: of one after none of ours.

        So it is where etcd was restored.
        """
        if went_back and self.version:
            self.version = BEFORE_ALL
        if version != self.version and not version_is_older(version, self.version):
            self._seen = version, fingerprint(status)

    def is_drifted(self) -> bool:
        """Return whether somebody has changed the status since it was written here."""
        version, mark = self._seen
        is_later = version not in ("", self.version) and not version_is_older(version, self.version)
        return self.version != "" and is_later and mark != self._mark

    def pause(self, now: float) -> float:
        """Return for how many seconds the next mending has to wait, and count it."""
        if now - self._mended_at > CALM_SECONDS:
            self._mended = 0
        doubled = PAUSE_FIRST_SECONDS * (1 << min(self._mended - 1, 16)) if self._mended else 0.0
        pause = min(doubled, PAUSE_MAX_SECONDS)
        self._mended, self._mended_at = self._mended + 1, now + pause
        return pause


class Ends:
    """What was kept of jobs that are not written any more; the caller locks."""

    def __init__(self) -> None:
        self._kept: dict[StreamId, Kept] = {}
        self._due: dict[StreamId, float] = {}
        """Jobs whose status others have changed, and from when on it may be mended."""

    def put(self, stream: StreamId, kept: Kept) -> None:
        """Remember what was kept, if anything is known of it."""
        if kept.version:
            self._kept[stream] = kept

    def take_out(self, stream: StreamId) -> Kept:
        """Return what was kept, to be remembered elsewhere from now on."""
        return self._kept.pop(stream, None) or Kept()

    def see(
        self, of: tuple[StreamId, str], status: Manifest, now: float, *, went_back: bool = False
    ) -> None:
        """Take note of a job's version that the watch tells of; `now` is a monotonic instant.

        What is shown is also to be looked at if nobody here has ever written it.
        """
        stream, version = of
        kept = self._kept.setdefault(stream, Kept())
        kept.see(version, status, went_back=went_back)
        is_unknown = kept.version == ""
        if (is_unknown or kept.is_drifted()) and stream not in self._due:
            self._due[stream] = now + kept.pause(now)

    def is_own(self, stream: StreamId, status: Manifest) -> bool:
        """Return whether a status is one of those that were written here last."""
        kept = self._kept.get(stream)
        return kept is not None and kept.is_own(status)

    def take_due(self, now: float) -> list[StreamId]:
        """Take the jobs whose status is to be looked at now."""
        due = [stream for stream, at in self._due.items() if at <= now]
        for stream in due:
            del self._due[stream]
        return due

    def give_back(self, streams: Iterable[StreamId], now: float) -> None:
        """Let jobs that were taken be due again."""
        for stream in streams:
            self._due.setdefault(stream, now)

    def forget(self, stream: StreamId) -> None:
        """Drop all that is known of a job."""
        self._kept.pop(stream, None)
        self._due.pop(stream, None)

    def streams(self) -> list[StreamId]:
        """Return all jobs of which anything is known."""
        return list(self._kept)
