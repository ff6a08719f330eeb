"""A bundle: the events and the evidence of one job in a file, with what proves both.

Lines of JSON: a head that says whose job it is, one line per event, one per piece of evidence, the
seal that vouches for it if there is one, and an end that holds the SHA-256 of all lines before. A
reader needs nothing else: every payload has its hash, every link continues the one before, evidence
is named by its digest, and the seal says where the stream stood when it was made.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.foreign import NOT_ONE_OF_OURS, NotOneOfOurs, said
from jobledger.core.forensics.required import digest_of, instant, uuid, whole
from jobledger.core.forensics.seals.sealing import Judge
from jobledger.core.forensics.seals.seals import Seal, document
from jobledger.core.forensics.seals.seals import read as read_seal
from jobledger.core.log.chain import GENESIS, canonical, first_fault
from jobledger.core.log.envelope import EventRecord, StoredEvent
from jobledger.core.values.documents import Json, Manifest, child, number, text
from jobledger.core.values.ids import EventId, StreamId
from jobledger.core.values.instants import Instant, parse_rfc3339

FORMAT = "jobledger bundle 1"

FINGERPRINT_SHOWN = 16
"""Characters of a fingerprint that are told; so many tell any two apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One job, with all that is needed to judge it."""

    exported_at: Instant
    events: tuple[StoredEvent, ...]
    evidence: Mapping[str, bytes] = field(default_factory=dict)
    """Digest of the content -> the content."""
    seal: Seal | None = None
    """The newest seal that says where this stream stood."""

    @property
    def stream(self) -> StreamId:
        """Return whose job it is."""
        return self.events[0].record.stream_id

    @property
    def fingerprint(self) -> str:
        """Return what tells it from every other story of the job: its last link, in hexadecimal."""
        return self.events[-1].record.chain.hex()


def evidence_digest(content: bytes) -> str:
    """Return the name of a piece of evidence: the SHA-256 of its content."""
    return hashlib.sha256(content).hexdigest()


def lines(bundle: Bundle) -> Iterator[str]:
    """Yield the lines of a bundle."""
    hashed = hashlib.sha256()
    for part in _parts(bundle):
        line = canonical(part).decode() + "\n"
        hashed.update(line.encode())
        yield line
    yield canonical({"end": hashed.hexdigest()}).decode() + "\n"


def _parts(bundle: Bundle) -> Iterator[Manifest]:
    last = bundle.events[-1].record
    yield {
        "bundle": FORMAT,
        "stream": str(bundle.stream),
        "exported_at": bundle.exported_at.isoformat(),
        "events": last.version,
        "head": last.chain.hex(),
    }
    for stored in bundle.events:
        yield {"event": _event(stored)}
    for digest in sorted(bundle.evidence):
        content = base64.b64encode(bundle.evidence[digest]).decode()
        yield {"evidence": {"digest": digest, "content": content}}
    if bundle.seal is not None:
        yield {"sealed": document(bundle.seal)}


def _event(stored: StoredEvent) -> Manifest:
    record = stored.record
    return {
        "position": stored.position,
        "version": record.version,
        "event_id": str(record.event_id),
        "type": record.type,
        "schema_version": record.schema_version,
        "occurred_at": record.occurred_at.isoformat(),
        "recorded_at": record.recorded_at.isoformat(),
        "actor": record.actor,
        "epoch": record.epoch,
        "causation_id": str(record.causation_id),
        "correlation_id": str(record.correlation_id),
        "data": record.data,
        "data_sha": record.data_sha.hex(),
        "chain": record.chain.hex(),
    }


def read(told: Iterable[str], where: str = "the bundle") -> Bundle:
    """Return the bundle that lines hold; `where` says in errors whose they are.

    Raises `BrokenChain` if they hold none, or if anything in it is not as it was exported.
    """
    read_so_far = _Reading(where)
    for count, line in enumerate(told, start=1):
        try:
            read_so_far.take(line)
        except NOT_ONE_OF_OURS as error:
            raise BrokenChain(f"line {count} of {where}", said(error)) from error
    try:
        return read_so_far.finished()
    except NOT_ONE_OF_OURS as error:
        raise BrokenChain(where, said(error)) from error


class _Reading:
    """A bundle, as far as it was read."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._hashed = hashlib.sha256()
        self._head: Manifest | None = None
        self._ended = False
        self._events: list[StoredEvent] = []
        self._evidence: dict[str, bytes] = {}
        self._seal: Seal | None = None

    def take(self, line: str) -> None:
        """Read one more line."""
        part: Json = json.loads(line)
        kind = next(iter(part), "") if isinstance(part, Mapping) else ""
        if self._ended:
            raise NotOneOfOurs("there is more after the end")
        if self._head is None and text(part, "bundle") != FORMAT:
            raise NotOneOfOurs(f"this is no bundle of the format {FORMAT!r}")
        takers: Mapping[str, Callable[[Json], None]] = {
            "event": self._take_event,
            "evidence": self._take_evidence,
            "sealed": self._take_seal,
            "end": self._take_end,
        }
        if self._head is None:
            self._head = child(part)
        else:
            if kind not in takers:
                raise NotOneOfOurs("this is no part of a bundle")
            takers[kind](part)
        self._hashed.update(line.encode())

    def finished(self) -> Bundle:
        """Return what was read; raise `BrokenChain` if it is not whole."""
        if self._head is None or not self._ended or not self._events:
            raise BrokenChain(self._where, "it is not complete")
        exported_at = parse_rfc3339(text(self._head, "exported_at"))
        if exported_at is None:
            raise BrokenChain(self._where, "it does not say when it was exported")
        last = self._events[-1].record
        if number(self._head, "events") != last.version:
            raise BrokenChain(self._where, f"it ends with version {last.version}")
        fault = first_fault(GENESIS, (stored.record for stored in self._events))
        if fault is None and self._events[0].record.version != 1:
            fault = self._events[0].record, "the stream does not begin with version 1"
        if fault is not None:
            raise BrokenChain(f"version {fault[0].version} of {self._where}", fault[1])
        return Bundle(
            exported_at=exported_at,
            events=tuple(self._events),
            evidence=self._evidence,
            seal=self._seal,
        )

    def _take_event(self, part: Json) -> None:
        assert self._head is not None
        stream = StreamId(uuid(self._head, "stream"))
        self._events.append(_stored(child(part, "event"), stream))

    def _take_evidence(self, part: Json) -> None:
        name = text(part, "evidence", "digest")
        try:
            content = base64.b64decode(text(part, "evidence", "content"), validate=True)
        except ValueError as error:
            raise NotOneOfOurs(f"evidence {name} is no base64") from error
        if evidence_digest(content) != name:
            raise NotOneOfOurs(f"evidence {name} has another content")
        self._evidence[name] = content

    def _take_seal(self, part: Json) -> None:
        self._seal = read_seal(canonical(child(part, "sealed")).decode())

    def _take_end(self, part: Json) -> None:
        if text(part, "end") != self._hashed.hexdigest():
            raise NotOneOfOurs("the lines before are not those that were exported")
        self._ended = True


def _stored(told: Manifest, stream: StreamId) -> StoredEvent:
    return StoredEvent(
        position=whole(told, "position"),
        record=EventRecord(
            stream_id=stream,
            version=whole(told, "version"),
            event_id=EventId(uuid(told, "event_id")),
            type=text(told, "type"),
            schema_version=whole(told, "schema_version"),
            occurred_at=instant(told, "occurred_at"),
            recorded_at=instant(told, "recorded_at"),
            actor=text(told, "actor"),
            epoch=whole(told, "epoch"),
            causation_id=uuid(told, "causation_id"),
            correlation_id=uuid(told, "correlation_id"),
            payload=canonical(child(told, "data")),
            data_sha=digest_of(told, "data_sha"),
            chain=digest_of(told, "chain"),
        ),
    )


def vouched_to(bundle: Bundle, judge: Judge | None, where: str = "the bundle") -> int:
    """Return up to which version a seal vouches for the bundle; 0 if none does.

    With a judge there must be a seal, signed by its key. Raises `BrokenChain` if there is not, or
    if the seal says otherwise than the events.
    """
    seal = bundle.seal
    if seal is None and judge is not None:
        raise BrokenChain(where, "it has no seal that the key which was given could have signed")
    if seal is None:
        return 0
    end = next((end for end in seal.streams if end.stream == bundle.stream), None)
    if end is None:
        raise BrokenChain(where, f"seal {seal.number} does not speak of this job")
    if judge is not None and (
        seal.signature is None or not judge.vouches(seal.digest, seal.signature)
    ):
        raise BrokenChain(where, f"seal {seal.number} is not signed by the key that was given")
    links = {stored.record.version: stored.record.chain for stored in bundle.events}
    if links.get(end.version) != end.chain:
        what = f"version {end.version} is not the one that seal {seal.number} speaks of"
        raise BrokenChain(where, what)
    return end.version


def cut(bundle: Bundle, version: int) -> Bundle:
    """Return the bundle of a job as it stood at a version; its evidence is kept."""
    kept: Sequence[StoredEvent] = [
        stored for stored in bundle.events if stored.record.version <= version
    ]
    return replace(bundle, events=tuple(kept))


def first_difference(one: Bundle, other: Bundle) -> int:
    """Return the first version in which two bundles of a stream differ; 0 if one continues one.

    A link covers all links before it: whoever has a link has the same beginning.
    """
    links = {stored.record.version: stored.record.chain for stored in other.events}
    for stored in one.events:
        if links.get(stored.record.version, stored.record.chain) != stored.record.chain:
            return stored.record.version
    return 0
