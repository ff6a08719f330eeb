"""Builders of streams, events and rows, where a test does not care what is in them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import uuid5

from msgspec.structs import replace

from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow, RowChanges
from jobledger.core.log.chain import GENESIS, canonical, data_sha, link
from jobledger.core.log.envelope import EventRecord
from jobledger.core.ports.event_store import StreamAppend
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import (
    NAMESPACE,
    DecisionId,
    EffectId,
    StreamId,
    decision_id_of,
    effect_id_of,
    event_id,
    observation_id,
    shard_of,
    stream_id,
)
from jobledger.core.values.instants import Instant

NOON: Instant = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

WRITER = "jobledger-0"
"""Who holds the leases and writes the events, where a test does not care."""


def a_stream(name: str = "train", created_at: Instant = NOON) -> StreamId:
    """Return the stream of the job called `name`."""
    return stream_id("kind", f"uid-of-{name}", created_at)


def a_stream_in(shard: int, name: str = "train", created_at: Instant = NOON) -> StreamId:
    """Return a stream that belongs to `shard`."""
    return next(
        stream
        for number in range(10_000)
        if shard_of(stream := a_stream(f"{name}-{number}", created_at)) == shard
    )


def an_event(
    stream: StreamId,
    version: int,
    previous: bytes,
    data: Manifest | None = None,
    *,
    epoch: int = 1,
    actor: str = WRITER,
    observation: str = "",
) -> EventRecord:
    """Return an event that continues a stream after the link `previous`.

    The same stream, version and `observation` give the same event id.
    """
    seen = observation_id(stream, observation or f"turn {version}")
    payload: Manifest = {"phase": "Running", "attempt": version} if data is None else data
    at = NOON + timedelta(seconds=version, microseconds=version)
    record = EventRecord(
        stream_id=stream,
        version=version,
        event_id=event_id(seen, 0),
        type="AttemptStarted",
        schema_version=1,
        occurred_at=at,
        recorded_at=at + timedelta(milliseconds=3),
        actor=actor,
        epoch=epoch,
        causation_id=seen,
        correlation_id=uuid5(NAMESPACE, f"{stream} 1"),
        payload=canonical(payload),
        data_sha=data_sha(payload),
        chain=b"",
    )
    return replace(record, chain=link(previous, record))


def with_data(record: EventRecord, data: Manifest) -> EventRecord:
    """Return a record with another payload, and with the hash and the link of its own."""
    return replace(record, payload=canonical(data))


def a_job_row(stream: StreamId, version: int = 1, *, is_open: bool = True) -> JobRow:
    """Return a row of `job` that reflects `version`."""
    return JobRow(
        stream_id=stream,
        shard=shard_of(stream),
        version=version,
        cluster="kind",
        kind="RayJob",
        namespace="ml",
        name=f"train-{stream.hex[-6:]}",
        uid=f"uid-{stream}",
        generation=1,
        phase="Running",
        job_status="RUNNING",
        reason="",
        message="",
        attempt=1,
        retries=0,
        succeeded=0,
        failed=0,
        ray_cluster_name="train-abcde",
        ray_job_id="train-xyz12",
        created_at=NOON,
        first_seen_at=NOON,
        started_at=NOON,
        ended_at=None,
        deleted_at=None,
        open=is_open,
        last_event_at=NOON + timedelta(seconds=version),
    )


def an_attempt_row(stream: StreamId, number: int = 1, outcome: str = "") -> AttemptRow:
    """Return a row of `attempt`."""
    return AttemptRow(
        stream_id=stream,
        number=number,
        generation=1,
        ray_cluster_name="train-abcde",
        ray_job_id="train-xyz12",
        started_at=NOON,
        running_at=None,
        ended_at=NOON + timedelta(minutes=1) if outcome else None,
        outcome=outcome,
        reason="",
        message="",
        job_status="RUNNING",
        retried=False,
    )


def a_decision_row(
    stream: StreamId, name: str = "retry", *, due_at: Instant = NOON, state: str = "pending"
) -> DecisionRow:
    """Return a row of `decision`; the same `name` gives the same id."""
    decided: DecisionId = decision_id_of(observation_id(stream, name), "retry", name)
    return DecisionRow(
        decision_id=decided,
        stream_id=stream,
        shard=shard_of(stream),
        attempt=1,
        kind="retry",
        state=state,
        due_at=due_at,
        scheduled_at=NOON,
        resolved_at=None if state == "pending" else due_at,
        cause=name,
        resolution="" if state == "pending" else state,
    )


def an_effect_row(stream: StreamId, name: str = "train", *, state: str = "requested") -> EffectRow:
    """Return a row of `effect`; the same `name` gives the same id."""
    made: EffectId = effect_id_of(observation_id(stream, name), "CreateObject", name)
    return EffectRow(
        effect_id=made,
        stream_id=stream,
        shard=shard_of(stream),
        attempt=1,
        kind="CreateObject",
        target=f"RayCluster/ml/{name}",
        state=state,
        requested_at=NOON,
        ended_at=None if state == "requested" else NOON + timedelta(seconds=1),
        trouble="",
    )


@dataclass(slots=True)
class StreamWriter:
    """Whoever writes one stream: knows where it ends, builds what comes next."""

    stream_id: StreamId
    epoch: int = 1
    actor: str = WRITER
    version: int = 0
    chain: bytes = GENESIS
    written: list[EventRecord] = field(default_factory=list, repr=False)

    def next(
        self,
        *payloads: Manifest | None,
        attempts: Sequence[AttemptRow] = (),
        decisions: Sequence[DecisionRow] = (),
        effects: Sequence[EffectRow] = (),
        observation: str = "",
    ) -> StreamAppend:
        """Return the part that appends one event per payload (one, if none is given)."""
        records: list[EventRecord] = []
        chain = self.chain
        for offset, payload in enumerate(payloads or (None,), start=1):
            name = f"{observation} {offset}" if observation else ""
            record = an_event(
                self.stream_id,
                self.version + offset,
                chain,
                payload,
                epoch=self.epoch,
                actor=self.actor,
                observation=name,
            )
            records.append(record)
            chain = record.chain
        return StreamAppend(
            stream_id=self.stream_id,
            expected_version=self.version,
            events=tuple(records),
            rows=RowChanges(
                job=a_job_row(self.stream_id, self.version + len(records)),
                attempts=tuple(attempts),
                decisions=tuple(decisions),
                effects=tuple(effects),
            ),
        )

    def wrote(self, part: StreamAppend) -> None:
        """Take note that `part` was appended."""
        self.written.extend(part.events)
        self.version = part.events[-1].version
        self.chain = part.events[-1].chain
