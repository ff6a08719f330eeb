"""The fold of one job's stream as bytes, so that it can be gone on from instead of folded anew.

It says nothing that the log does not say: whoever reads it must know that the log has the end it
was made at, that the same code folded it, and that it is as it was written; see `is_genuine`.
"""

import hmac
from collections.abc import Mapping

from msgspec import Raw, Struct, msgpack

from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow
from jobledger.core.kinds import KINDS, JobState, kind_of
from jobledger.core.log.recording import Tail
from jobledger.core.ports.projections import Snapshot
from jobledger.core.projections.view import View
from jobledger.core.values.instants import Instant

_PURPOSE = b"jobledger snapshot"


class Folded(Struct, frozen=True, kw_only=True):
    """A job as its stream had it at its end of then."""

    view: View
    spent: float = 0.0
    """How much of its budget of events was used up at that instant; see `core.jobs.budget`."""
    at: Instant
    """When that was looked at."""
    decided: str = ""
    """What tells that the job is as it had been decided on by then; empty: nobody knows."""


class _Content(Struct, frozen=True, array_like=True):
    kind: str
    state: Raw
    version: int
    job: JobRow | None
    attempt: AttemptRow | None
    decisions: tuple[DecisionRow, ...]
    effects: tuple[EffectRow, ...]
    spent: float
    at: Instant
    decided: str


_ENCODER = msgpack.Encoder()
_CONTENT = msgpack.Decoder(_Content)
_STATES: Mapping[str, msgpack.Decoder[JobState]] = {
    name: msgpack.Decoder(type(kind.initial)) for name, kind in KINDS.items()
}


def snapshot_of(tail: Tail, folded: Folded, folded_by: bytes, key: bytes) -> Snapshot:
    """Return what is stored of a fold that ends at `tail`."""
    view = folded.view
    assert view.version == tail.version, "both are of the same end"
    content = _Content(
        kind=kind_of(view.state).name,
        state=Raw(_ENCODER.encode(view.state)),
        version=view.version,
        job=view.job,
        attempt=view.attempt,
        decisions=view.decisions,
        effects=view.effects,
        spent=folded.spent,
        at=folded.at,
        decided=folded.decided,
    )
    made = _ENCODER.encode(content)
    return Snapshot(
        stream_id=tail.stream_id,
        version=tail.version,
        chain=tail.chain,
        folded_by=folded_by,
        content=made,
        seal=_seal(tail, folded_by, made, key),
    )


def is_genuine(snapshot: Snapshot, folded_by: bytes, key: bytes) -> bool:
    """Return whether a snapshot is as this installation wrote it, and of the same code."""
    seal = _seal(snapshot.tail, folded_by, snapshot.content, key)
    return hmac.compare_digest(seal, snapshot.seal)


def folded_in(snapshot: Snapshot) -> Folded:
    """Return the fold in a snapshot that is genuine.

    Raises:
        msgspec.DecodeError: it holds none.
    """
    content = _CONTENT.decode(snapshot.content)
    view = View(
        version=content.version,
        state=_STATES[content.kind].decode(content.state),
        job=content.job,
        attempt=content.attempt,
        decisions=content.decisions,
        effects=content.effects,
    )
    return Folded(view=view, spent=content.spent, at=content.at, decided=content.decided)


def _seal(tail: Tail, folded_by: bytes, content: bytes, key: bytes) -> bytes:
    """Return the seal; every part but the last has a length that is fixed or told."""
    head = b"%b %b %d %d " % (_PURPOSE, tail.stream_id.bytes, tail.version, len(tail.chain))
    said = head + tail.chain + b"%d " % len(folded_by) + folded_by + content
    return hmac.digest(key, said, "sha256")
