"""The table metadata that `alembic check` compares and queries use.

`event` is the log; `stream` and `log_head` say where it ends. The other tables are inline
projections: they follow from the log and are written by the same call. `shard_lease` says who may
write.
Nothing here writes: the functions in `adapters/postgres/sql` do, and the service's role may do
nothing else.
"""

from typing import Any, TypeAlias

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    false,
    text,
)
from sqlalchemy.dialects.postgresql import INT8MULTIRANGE, JSONB, TIMESTAMP
from sqlalchemy.types import TypeEngine

from jobledger.adapters.postgres.schema.report_tables import add_report_tables

PARTITION_PREFIX = "event_"
"""Partitions of `event` are called `event_y2026m11` and `event_default`."""

metadata = MetaData()

_Kind: TypeAlias = "TypeEngine[Any] | type[TypeEngine[Any]]"

_INSTANT = TIMESTAMP(timezone=True)
_JOB_ID = "UUIDv7 of the job: creation of the Kubernetes object, hash of (cluster, UID)"


def _column(name: str, kind: _Kind, comment: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, kind, nullable=nullable, comment=comment)


def _mark(name: str, comment: str) -> Column[Any]:
    """Return a column that came later: what programs before it do not write counts as false."""
    return Column(name, Boolean, nullable=False, comment=comment, server_default=false())


event = Table(
    "event",
    metadata,
    _column("position", BigInteger, "Place in the whole log, from 1, in commit order, no gaps"),
    _column("stream_id", Uuid, _JOB_ID),
    _column("version", Integer, "Place in the stream, from 1, no gaps"),
    _column("event_id", Uuid, "UUIDv5 of the observation and the event's number in its answer"),
    _column("type", Text, "Stable name of what happened, in the past tense"),
    _column("schema_version", SmallInteger, "Shape of data for this type, from 1"),
    _column("occurred_at", _INSTANT, "When it was true in the world"),
    _column("recorded_at", _INSTANT, "When the controller wrote it down, by its own clock"),
    _column("actor", Text, "Which process wrote it"),
    _column("epoch", BigInteger, "Epoch of the lease it was written under"),
    _column("causation_id", Uuid, "Observation it was decided on"),
    _column("correlation_id", Uuid, "Effect or decision it belongs to; else the stream"),
    _column("data", JSONB, "Payload, redacted"),
    _column("data_sha", LargeBinary, "SHA-256 of the canonical text of data"),
    _column("chain", LargeBinary, "SHA-256 of the previous link, the envelope and data_sha"),
    PrimaryKeyConstraint("stream_id", "version", name="event_pkey"),
    UniqueConstraint("stream_id", "event_id", name="event_id_key"),
    Index("event_position", "position"),
    comment="The log: everything that was seen and decided, for ever; append only",
    postgresql_partition_by="RANGE (stream_id)",
)

stream = Table(
    "stream",
    metadata,
    _column("stream_id", Uuid, _JOB_ID),
    _column("version", Integer, "Version of the last event"),
    _column("chain", LargeBinary, "Link of the last event"),
    _column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
    PrimaryKeyConstraint("stream_id", name="stream_pkey"),
    comment="Where each stream ends",
    postgresql_with={"fillfactor": 70},
)

log_head = Table(
    "log_head",
    metadata,
    Column(
        "single",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="Always true: there is one row",
    ),
    _column("position", BigInteger, "Position of the last event; 0 for an empty log"),
    Column(
        "appends",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        comment="How many appends there were since this is counted",
    ),
    PrimaryKeyConstraint("single", name="log_head_pkey"),
    comment="Where the whole log ends",
)

append_lock = Table(
    "append_lock",
    metadata,
    Column("held", Boolean, comment="Nothing"),
    comment="Its lock is held while the log, leases or rows of jobs are written",
)

upkeep_lock = Table(
    "upkeep_lock",
    metadata,
    Column("held", Boolean, comment="Nothing"),
    comment="Its lock is held while partitions are made or a seal is kept",
)

seal = Table(
    "seal",
    metadata,
    _column("number", BigInteger, "From 1, without gaps"),
    _column("first_position", BigInteger, "First position that it covers"),
    _column("last_position", BigInteger, "Last position that it covers"),
    _column("document", Text, "The seal as it is kept in files too: JSON, with its signature"),
    PrimaryKeyConstraint("number", name="seal_pkey"),
    comment="What the log looked like when a range of positions was sealed; append only",
)

seal_head = Table(
    "seal_head",
    metadata,
    Column(
        "single",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="Always true: there is one row",
    ),
    _column("number", BigInteger, "Number of the seal kept last, or 0"),
    _column("digest", LargeBinary, "Its digest; zeros while none is"),
    PrimaryKeyConstraint("single", name="seal_head_pkey"),
    comment="Which seal was kept last; only ever moves on",
)

evidence = Table(
    "evidence",
    metadata,
    _column("digest", LargeBinary, "SHA-256 of the content: the name that events give it"),
    _column("size", Integer, "Bytes of the content"),
    _column("packed", LargeBinary, "The content, redacted, compressed with zlib"),
    _column("stored_at", _INSTANT, "When it was stored first"),
    PrimaryKeyConstraint("digest", name="evidence_pkey"),
    comment="What was captured before it disappeared, named by events; append only",
)

imported_job = Table(
    "imported_job",
    metadata,
    _column("stream_id", Uuid, "The job's stream in the ledger that it comes from"),
    _column("cluster", Text, "Kubernetes cluster, as that ledger calls it"),
    _column("namespace", Text, "Namespace of the object"),
    _column("name", Text, "Name of the object"),
    _column("uid", Text, "UID of the object"),
    _column("events", Integer, "Version of its last event"),
    _column("imported_at", _INSTANT, "When it was imported"),
    _column("document", Text, "The bundle, as `jobledger export` wrote it"),
    PrimaryKeyConstraint("stream_id", name="imported_job_pkey"),
    Index("imported_job_name", "namespace", "name"),
    comment="Jobs of other ledgers, to be read; nothing here belongs to this log",
)

archive = Table(
    "archive",
    metadata,
    _column("number", BigInteger, "From 1, without gaps"),
    _column("digest", LargeBinary, "SHA-256 of the record, which the next one and seals hold"),
    _column("made_at", _INSTANT, "When it was made"),
    _column("file", Text, "Name of the file that holds the jobs"),
    _column("jobs", Integer, "How many jobs it holds"),
    _column("events", BigInteger, "How many events it holds"),
    _column("positions", INT8MULTIRANGE, "Positions of their events"),
    _column("document", Text, "The record as it is kept in files too: JSON, with its signature"),
    PrimaryKeyConstraint("number", name="archive_pkey"),
    comment="Archive records: which jobs have left the log, and for which file; append only",
)

archived_stream = Table(
    "archived_stream",
    metadata,
    _column("stream_id", Uuid, "Stream of the job"),
    _column("archive", BigInteger, "Number of the archive record"),
    _column("version", Integer, "Version of its last event"),
    _column("chain", LargeBinary, "Link of its last event"),
    _column("cluster", Text, "Kubernetes cluster, as this installation calls it"),
    _column("kind", Text, "RayJob or TrainJob"),
    _column("namespace", Text, "Namespace of the object"),
    _column("name", Text, "Name of the object"),
    _column("uid", Text, "UID of the object"),
    _column("created_at", _INSTANT, "When the object was created in Kubernetes"),
    _column("deleted_at", _INSTANT, "When the object was seen to be gone"),
    PrimaryKeyConstraint("stream_id", "archive", name="archived_stream_pkey"),
    Index("archived_stream_name", "namespace", "name"),
    comment="Jobs that archive records speak of; append only",
)

archived_evidence = Table(
    "archived_evidence",
    metadata,
    _column("digest", LargeBinary, "SHA-256 of the content"),
    _column("marked_at", _INSTANT, "When an archive held it and no job was about to name it"),
    PrimaryKeyConstraint("digest", name="archived_evidence_pkey"),
    comment="Evidence that archives hold and that may go if no event names it any more",
)

job = Table(
    "job",
    metadata,
    _column("stream_id", Uuid, _JOB_ID),
    _column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
    _column("version", Integer, "Version of the stream that this row reflects"),
    _column("cluster", Text, "Kubernetes cluster, as this installation calls it"),
    _column("kind", Text, "RayJob or TrainJob"),
    _column("namespace", Text, "Namespace of the object"),
    _column("name", Text, "Name of the object"),
    _column("uid", Text, "UID of the object"),
    _column("generation", BigInteger, "Generation of the specification last seen"),
    _column("phase", Text, "RayJob: job deployment status; empty while new"),
    _column("job_status", Text, "RayJob: what Ray says of the entrypoint"),
    _column("reason", Text, "Why it is in this phase, one word; empty if there is none"),
    _column("message", Text, "The same for people; redacted"),
    _column("attempt", Integer, "Number of the current or last attempt, from 1; 0 before"),
    _column("retries", Integer, "How many retries were granted"),
    _column("succeeded", Integer, "How many attempts succeeded"),
    _column("failed", Integer, "How many attempts failed"),
    _column("ray_cluster_name", Text, "RayCluster of the current or last attempt"),
    _column("ray_job_id", Text, "Submission id of the current or last attempt"),
    _column("created_at", _INSTANT, "When the object was created in Kubernetes"),
    _column("first_seen_at", _INSTANT, "When the controller first saw it"),
    _column("started_at", _INSTANT, "When the current attempt started", nullable=True),
    _column("ended_at", _INSTANT, "When it reached Complete or Failed", nullable=True),
    _column("deleted_at", _INSTANT, "When the object was seen to be gone", nullable=True),
    _column("open", Boolean, "Whether anything is left to do"),
    _column("last_event_at", _INSTANT, "When its last event occurred"),
    _mark("recorded", "Whether another controller decides about it, and it is only recorded"),
    PrimaryKeyConstraint("stream_id", name="job_pkey"),
    Index("job_open", "stream_id", postgresql_where=text("open")),
    Index("job_there", "stream_id", postgresql_where=text("NOT open AND deleted_at IS NULL")),
    Index("job_name", "namespace", "name"),
    comment="Current state of each job; follows from the log",
    postgresql_with={"fillfactor": 70},
)

attempt = Table(
    "attempt",
    metadata,
    _column("stream_id", Uuid, _JOB_ID),
    _column("number", Integer, "From 1"),
    _column("generation", BigInteger, "Generation of the specification it was started on"),
    _column("ray_cluster_name", Text, "RayCluster it runs on"),
    _column("ray_job_id", Text, "Submission id"),
    _column("started_at", _INSTANT, "When it was started"),
    _column("running_at", _INSTANT, "When the cluster was ready and it ran", nullable=True),
    _column("ended_at", _INSTANT, "When it ended", nullable=True),
    _column(
        "outcome", Text, "succeeded, stopped, failed, suspended, deleted; empty while it goes on"
    ),
    _column("reason", Text, "Why it ended, one word"),
    _column("message", Text, "The same for people; redacted"),
    _column("job_status", Text, "The last thing Ray said of the entrypoint"),
    _column("retried", Boolean, "Whether a retry was granted after it"),
    _mark("inferred", "Whether its life is inferred from what another controller did"),
    PrimaryKeyConstraint("stream_id", "number", name="attempt_pkey"),
    comment="Executions of jobs; follow from the log",
    postgresql_with={"fillfactor": 70},
)

decision = Table(
    "decision",
    metadata,
    _column("decision_id", Uuid, "UUIDv5 of the observation, kind and subject"),
    _column("stream_id", Uuid, _JOB_ID),
    _column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
    _column("attempt", Integer, "Attempt it was made in; 0 before the first"),
    _column("kind", Text, "retry, active_deadline, ttl_shutdown and the like"),
    _column("state", Text, "pending, fired or cancelled"),
    _column("due_at", _INSTANT, "When it is to be carried out"),
    _column("scheduled_at", _INSTANT, "When it was made"),
    _column("resolved_at", _INSTANT, "When it fired or was cancelled", nullable=True),
    _column("cause", Text, "Why it was made, in words"),
    _column("resolution", Text, "Why it was cancelled, or what firing it brought about"),
    PrimaryKeyConstraint("stream_id", "decision_id", name="decision_pkey"),
    Index("decision_due", "due_at", postgresql_where=text("state = 'pending'")),
    comment="What the controller resolved to do at a later instant; follows from the log",
)

effect = Table(
    "effect",
    metadata,
    _column("effect_id", Uuid, "UUIDv5 of the observation, kind and target"),
    _column("stream_id", Uuid, _JOB_ID),
    _column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
    _column("attempt", Integer, "Attempt it belongs to; 0 before the first"),
    _column(
        "kind", Text, "What is done: create_cluster, delete_cluster, submit_entrypoint and the like"
    ),
    _column("target", Text, "What it acts on: a name, or a submission id at an address"),
    _column("state", Text, "requested, succeeded, failed or superseded"),
    _column("requested_at", _INSTANT, "When it was decided on"),
    _column("ended_at", _INSTANT, "When it ended", nullable=True),
    _column("trouble", Text, "Latest kind of failure that was met; empty if none"),
    PrimaryKeyConstraint("stream_id", "effect_id", name="effect_pkey"),
    Index("effect_requested", "requested_at", postgresql_where=text("state = 'requested'")),
    comment="What the controller does outside; follows from the log",
)

shard_lease = Table(
    "shard_lease",
    metadata,
    _column("shard", SmallInteger, "Part of the work, from 0"),
    _column("epoch", BigInteger, "Grows with every change of hands; checked by append"),
    _column("owner", Text, "One run of one process; empty when it was given up"),
    _column("until", _INSTANT, "When the lease ends, by the clock of the database"),
    PrimaryKeyConstraint("shard", name="shard_lease_pkey"),
    comment="Who may write for which part of the work",
)

replica = Table(
    "replica",
    metadata,
    _column("owner", Text, "One run of one process, as in shard_lease"),
    _column("cluster", Text, "Kubernetes cluster that it serves"),
    _column("since", _INSTANT, "When it was first heard of"),
    _column("until", _INSTANT, "When it counts as gone, unless it is heard of again"),
    _column("hears", Boolean, "Whether it heard the API server at its last heartbeat"),
    _column("heard_at", _INSTANT, "When it last did; empty while it starts", nullable=True),
    _column("well_since", _INSTANT, "Since when it had at every heartbeat", nullable=True),
    PrimaryKeyConstraint("owner", name="replica_pkey"),
    comment="Who shares the work, by their heartbeats",
)

ledger_cluster = Table(
    "ledger_cluster",
    metadata,
    _column("cluster", Text, "Kubernetes cluster, as its installation calls it"),
    _column("slot", SmallInteger, "Its number: the lease on its shard s is number 16 slot + s"),
    PrimaryKeyConstraint("cluster", name="ledger_cluster_pkey"),
    UniqueConstraint("slot", name="ledger_cluster_slot_key"),
    comment="Which clusters are on this ledger; each has shards of its own",
)

add_report_tables(metadata)
