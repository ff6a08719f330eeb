"""A dossier: everything known about one job, read from a ledger or from a bundle."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jobledger.core.catalogue import JobEvent, read_event
from jobledger.core.errors import BrokenChain
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import kind_of_type
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.values.instants import Instant

EvidenceReader = Callable[[str], bytes | None]
"""Returns the content of a piece of evidence by its digest; None if it is not to be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEvent:
    """An event with what forensics asks of its envelope."""

    version: int
    occurred_at: Instant
    """When it was true."""
    recorded_at: Instant
    """When the controller wrote it down."""
    actor: str
    event: JobEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """One job."""

    events: tuple[StoredEvent, ...]
    evidence: EvidenceReader
    origin: str
    """Where it was read from, for people."""

    @property
    def identity(self) -> JobIdentity:
        """Return which object the job is; raise `BrokenChain` if the stream does not say.

        So if it is another job's: what a bundle is kept under would be that one's.
        """
        for stored in self.events[:1]:
            identity = getattr(read_event(stored.record), "identity", None)
            if isinstance(identity, JobIdentity):
                if identity.stream_id == stored.record.stream_id:
                    return identity
                what = f"stream {stored.record.stream_id} tells of stream {identity.stream_id}"
                raise BrokenChain(self.origin, what)
        raise BrokenChain(self.origin, "the stream does not begin with who the job is")

    @property
    def identity_if_whole(self) -> JobIdentity:
        """Return which object the job is, if no event is missing in between.

        Raises `BrokenChain` if one is: what is said of events by their versions would be wrong.
        """
        for number, stored in enumerate(self.events, start=1):
            if stored.record.version != number:
                what = f"event {number} of the stream is missing; `jobledger verify` says more"
                raise BrokenChain(self.origin, what)
        return self.identity

    @property
    def kind(self) -> str:
        """Return the name of the kind of job; empty if the stream does not say it."""
        kind = kind_of_type(self.events[0].record.type)
        return kind.name if kind is not None else ""

    def read(self) -> tuple[ReadEvent, ...]:
        """Return all events, decoded.

        Raises:
            UnknownEventType: an event was written by a newer version.
            BrokenChain: a payload is not one of its type, or the first is not who the job is.
        """
        self._check_beginning()
        return tuple(
            ReadEvent(
                version=stored.record.version,
                occurred_at=stored.record.occurred_at,
                recorded_at=stored.record.recorded_at,
                actor=stored.record.actor,
                event=read_event(stored.record),
            )
            for stored in self.events
        )

    def _check_beginning(self) -> None:
        """Raise `BrokenChain` if the events are not those of one job: no rule could fold them."""
        identity = self.identity
        found = (kind_of_type(stored.record.type) for stored in self.events)
        kinds = {kind.name for kind in found if kind is not None}
        if len(kinds) > 1:
            what = f"the stream of {identity.name} has events of several kinds of job"
            raise BrokenChain(self.origin, what)


def reader_of(evidence: Mapping[str, bytes]) -> EvidenceReader:
    """Return what reads evidence from a bundle."""
    return evidence.get
