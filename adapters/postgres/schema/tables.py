"""The table metadata that `alembic check` compares and queries use.

`event` is the log; `stream` and `log_head` say where it ends. The other tables are inline
projections: they follow from the log and are written by the same call. `shard_lease` says who may
write.
Nothing here writes: the functions in `adapters/postgres/sql` do, and the service's role may do
nothing else.
"""

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
    text,
)
from sqlalchemy.dialects.postgresql import INT8MULTIRANGE, JSON

from jobledger.adapters.postgres.schema.columns import INSTANT, column, single
from jobledger.adapters.postgres.schema.notification_tables import add_notification_tables
from jobledger.adapters.postgres.schema.report_tables import add_report_tables

PARTITION_PREFIX = "event_"
"""Partitions of `event` are called `event_y2026m11` and `event_default`."""

metadata = MetaData()

_JOB_ID = "UUIDv7 of the job: creation of the Kubernetes object, hash of (cluster, UID)"


event = Table(
    "event",
    metadata,
    column("position", BigInteger, "Place in the whole log, from 1, in commit order, no gaps"),
    column("stream_id", Uuid, _JOB_ID),
    column("version", Integer, "Place in the stream, from 1, no gaps"),
    column("event_id", Uuid, "UUIDv5 of the observation and the event's number in its answer"),
    column("type", Text, "Stable name of what happened, in the past tense"),
    column("schema_version", SmallInteger, "Shape of data for this type, from 1"),
    column("occurred_at", INSTANT, "When it was true in the world"),
    column("recorded_at", INSTANT, "When the controller wrote it down, by its own clock"),
    column("actor", Text, "Which process wrote it"),
    column("epoch", BigInteger, "Epoch of the lease it was written under"),
    column("causation_id", Uuid, "Observation it was decided on"),
    column("correlation_id", Uuid, "Effect or decision it belongs to; else the stream"),
    column("data", JSON, "Payload, redacted: its canonical text"),
    column("data_sha", LargeBinary, "SHA-256 of the canonical text of data"),
    column("chain", LargeBinary, "SHA-256 of the previous link, the envelope and data_sha"),
    PrimaryKeyConstraint("stream_id", "version", name="event_pkey"),
    UniqueConstraint("stream_id", "event_id", name="event_id_key"),
    Index("event_position", "position"),
    comment="The log: everything that was seen and decided, for ever; append only",
    postgresql_partition_by="RANGE (stream_id)",
)

stream = Table(
    "stream",
    metadata,
    column("stream_id", Uuid, _JOB_ID),
    column("version", Integer, "Version of the last event"),
    column("chain", LargeBinary, "Link of the last event"),
    column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
    PrimaryKeyConstraint("stream_id", name="stream_pkey"),
    comment="Where each stream ends",
    postgresql_with={"fillfactor": 70},
)

log_head = Table(
    "log_head",
    metadata,
    single(),
    column("position", BigInteger, "Position of the last event; 0 for an empty log"),
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
    column("number", BigInteger, "From 1, without gaps"),
    column("first_position", BigInteger, "First position that it covers"),
    column("last_position", BigInteger, "Last position that it covers"),
    column("document", Text, "The seal as it is kept in files too: JSON, with its signature"),
    PrimaryKeyConstraint("number", name="seal_pkey"),
    comment="What the log looked like when a range of positions was sealed; append only",
)

seal_head = Table(
    "seal_head",
    metadata,
    single(),
    column("number", BigInteger, "Number of the seal kept last, or 0"),
    column("digest", LargeBinary, "Its digest; zeros while none is"),
    PrimaryKeyConstraint("single", name="seal_head_pkey"),
    comment="Which seal was kept last; only ever moves on",
)

evidence = Table(
    "evidence",
    metadata,
    column("digest", LargeBinary, "SHA-256 of the content: the name that events give it"),
    column("size", Integer, "Bytes of the content"),
    column("packed", LargeBinary, "The content, redacted, compressed with zlib"),
    column("stored_at", INSTANT, "When it was stored first"),
    PrimaryKeyConstraint("digest", name="evidence_pkey"),
    comment="What was captured before it disappeared, named by events; append only",
)

imported_job = Table(
    "imported_job",
    metadata,
    column("stream_id", Uuid, "The job's stream in the ledger that it comes from"),
    column("cluster", Text, "Kubernetes cluster, as that ledger calls it"),
    column("namespace", Text, "Namespace of the object"),
    column("name", Text, "Name of the object"),
    column("uid", Text, "UID of the object"),
    column("events", Integer, "Version of its last event"),
    column("imported_at", INSTANT, "When it was imported"),
    column("document", Text, "The bundle, as `jobledger export` wrote it"),
    PrimaryKeyConstraint("stream_id", name="imported_job_pkey"),
    Index("imported_job_name", "namespace", "name"),
    comment="Jobs of other ledgers, to be read; nothing here belongs to this log",
)

archive = Table(
    "archive",
    metadata,
    column("number", BigInteger, "From 1, without gaps"),
    column("digest", LargeBinary, "SHA-256 of the record, which the next one and seals hold"),
    column("made_at", INSTANT, "When it was made"),
    column("file", Text, "Name of the file that holds the jobs"),
    column("jobs", Integer, "How many jobs it holds"),
    column("events", BigInteger, "How many events it holds"),
    column("positions", INT8MULTIRANGE, "Positions of their events"),
    column("document", Text, "The record as it is kept in files too: JSON, with its signature"),
    PrimaryKeyConstraint("number", name="archive_pkey"),
    comment="Archive records: which jobs have left the log, and for which file; append only",
)

archived_stream = Table(
    "archived_stream",
    metadata,
    column("stream_id", Uuid, "Stream of the job"),
    column("archive", BigInteger, "Number of the archive record"),
    column("version", Integer, "Version of its last event"),
    column("chain", LargeBinary, "Link of its last event"),
    column("cluster", Text, "Kubernetes cluster, as this installation calls it"),
    column("kind", Text, "RayJob or TrainJob"),
    column("namespace", Text, "Namespace of the object"),
    column("name", Text, "Name of the object"),
    column("uid", Text, "UID of the object"),
    column("created_at", INSTANT, "When the object was created in Kubernetes"),
    column("deleted_at", INSTANT, "When the object was seen to be gone"),
    PrimaryKeyConstraint("stream_id", "archive", name="archived_stream_pkey"),
    Index("archived_stream_name", "namespace", "name"),
    comment="Jobs that archive records speak of; append only",
)

archived_evidence = Table(
    "archived_evidence",
    metadata,
    column("digest", LargeBinary, "SHA-256 of the content"),
    column("marked_at", INSTANT, "When an archive held it and no job was about to name it"),
    PrimaryKeyConstraint("digest", name="archived_evidence_pkey"),
    comment="Evidence that archives hold and that may go if no event names it any more",
)

job = Table(
    "job",
    metadata,
    column("stream_id", Uuid, _JOB_ID),
    column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
    column("version", Integer, "Version of the stream that this row reflects"),
    column("cluster", Text, "Kubernetes cluster, as this installation calls it"),
    column("kind", Text, "RayJob or TrainJob"),
    column("namespace", Text, "Namespace of the object"),
    column("name", Text, "Name of the object"),
    column("uid", Text, "UID of the object"),
    column("generation", BigInteger, "Generation of the specification last seen"),
    column("phase", Text, "RayJob: job deployment status; empty while new"),
    column("job_status", Text, "RayJob: what Ray says of the entrypoint"),
    column("reason", Text, "Why it is in this phase, one word; empty if there is none"),
    column("message", Text, "The same for people; redacted"),
    column("attempt", Integer, "Number of the current or last attempt, from 1; 0 before"),
    column("retries", Integer, "How many retries were granted"),
    column("succeeded", Integer, "How many attempts succeeded"),
    column("failed", Integer, "How many attempts failed"),
    column("ray_cluster_name", Text, "RayCluster of the current or last attempt"),
    column("ray_job_id", Text, "Submission id of the current or last attempt"),
    column("created_at", INSTANT, "When the object was created in Kubernetes"),
    column("first_seen_at", INSTANT, "When the controller first saw it"),
    column("started_at", INSTANT, "When the current attempt started", nullable=True),
    column("ended_at", INSTANT, "When it reached Complete or Failed", nullable=True),
    column("deleted_at", INSTANT, "When the object was seen to be gone", nullable=True),
    column("open", Boolean, "Whether anything is left to do"),
    column("last_event_at", INSTANT, "When its last event occurred"),
    column(
        "recorded", Boolean, "Whether another controller decides about it, and it is only recorded"
    ),
    PrimaryKeyConstraint("stream_id", name="job_pkey"),
    Index("job_open", "stream_id", postgresql_where=text("open")),
    Index("job_there", "stream_id", postgresql_where=text("NOT open AND deleted_at IS NULL")),
    Index("job_name", "namespace", "name", "stream_id"),
    Index("job_phase", "phase", "stream_id"),
    Index("job_uid", "uid", postgresql_ops={"uid": "text_pattern_ops"}),
    comment="Current state of each job; follows from the log",
    postgresql_with={"fillfactor": 70},
)

attempt = Table(
    "attempt",
    metadata,
    column("stream_id", Uuid, _JOB_ID),
    column("number", Integer, "From 1"),
    column("generation", BigInteger, "Generation of the specification it was started on"),
    column("ray_cluster_name", Text, "RayCluster it runs on"),
    column("ray_job_id", Text, "Submission id"),
    column("started_at", INSTANT, "When it was started"),
    column("running_at", INSTANT, "When the cluster was ready and it ran", nullable=True),
    column("ended_at", INSTANT, "When it ended", nullable=True),
    column(
        "outcome", Text, "succeeded, stopped, failed, suspended, deleted; empty while it goes on"
    ),
    column("reason", Text, "Why it ended, one word"),
    column("message", Text, "The same for people; redacted"),
    column("job_status", Text, "The last thing Ray said of the entrypoint"),
    column("retried", Boolean, "Whether a retry was granted after it"),
    column("inferred", Boolean, "Whether its life is inferred from what another controller did"),
    PrimaryKeyConstraint("stream_id", "number", name="attempt_pkey"),
    comment="Executions of jobs; follow from the log",
    postgresql_with={"fillfactor": 70},
)

decision = Table(
    "decision",
    metadata,
    column("decision_id", Uuid, "UUIDv5 of the observation, kind and subject"),
    column("stream_id", Uuid, _JOB_ID),
    column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
    column("attempt", Integer, "Attempt it was made in; 0 before the first"),
    column("kind", Text, "retry, active_deadline, ttl_shutdown and the like"),
    column("state", Text, "pending, fired or cancelled"),
    column("due_at", INSTANT, "When it is to be carried out"),
    column("scheduled_at", INSTANT, "When it was made"),
    column("resolved_at", INSTANT, "When it fired or was cancelled", nullable=True),
    column("cause", Text, "Why it was made, in words"),
    column("resolution", Text, "Why it was cancelled, or what firing it brought about"),
    PrimaryKeyConstraint("stream_id", "decision_id", name="decision_pkey"),
    Index("decision_due", "due_at", postgresql_where=text("state = 'pending'")),
    comment="What the controller resolved to do at a later instant; follows from the log",
)

effect = Table(
    "effect",
    metadata,
    column("effect_id", Uuid, "UUIDv5 of the observation, kind and target"),
    column("stream_id", Uuid, _JOB_ID),
    column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
    column("attempt", Integer, "Attempt it belongs to; 0 before the first"),
    column(
        "kind", Text, "What is done: create_cluster, delete_cluster, submit_entrypoint and the like"
    ),
    column("target", Text, "What it acts on: a name, or a submission id at an address"),
    column("state", Text, "requested, succeeded, failed or superseded"),
    column("requested_at", INSTANT, "When it was decided on"),
    column("ended_at", INSTANT, "When it ended", nullable=True),
    column("trouble", Text, "Latest kind of failure that was met; empty if none"),
    PrimaryKeyConstraint("stream_id", "effect_id", name="effect_pkey"),
    Index("effect_requested", "requested_at", postgresql_where=text("state = 'requested'")),
    comment="What the controller does outside; follows from the log",
)

snapshot = Table(
    "snapshot",
    metadata,
    column("stream_id", Uuid, _JOB_ID),
    column("version", Integer, "Version of the last event that is in it"),
    column("chain", LargeBinary, "Link of that event"),
    column("folded_by", LargeBinary, "SHA-256 of the code that folded it"),
    column("content", LargeBinary, "The fold, as MessagePack"),
    column("seal", LargeBinary, "HMAC-SHA256 of all this under the key of the service"),
    PrimaryKeyConstraint("stream_id", name="snapshot_pkey"),
    comment="Folds of open jobs, from which a start goes on; nothing is lost with them",
)

shard_lease = Table(
    "shard_lease",
    metadata,
    column("shard", SmallInteger, "Part of the work, from 0"),
    column("epoch", BigInteger, "Grows with every change of hands; checked by append"),
    column("owner", Text, "One run of one process; empty when it was given up"),
    column("until", INSTANT, "When the lease ends, by the clock of the database"),
    PrimaryKeyConstraint("shard", name="shard_lease_pkey"),
    comment="Who may write for which part of the work",
)

replica = Table(
    "replica",
    metadata,
    column("owner", Text, "One run of one process, as in shard_lease"),
    column("cluster", Text, "Kubernetes cluster that it serves"),
    column("since", INSTANT, "When it was first heard of"),
    column("until", INSTANT, "When it counts as gone, unless it is heard of again"),
    column("hears", Boolean, "Whether it heard the API server at its last heartbeat"),
    column("heard_at", INSTANT, "When it last did; empty while it starts", nullable=True),
    column("well_since", INSTANT, "Since when it had at every heartbeat", nullable=True),
    PrimaryKeyConstraint("owner", name="replica_pkey"),
    comment="Who shares the work, by their heartbeats",
)

ledger_cluster = Table(
    "ledger_cluster",
    metadata,
    column("cluster", Text, "Kubernetes cluster, as its installation calls it"),
    column("slot", SmallInteger, "Its number: the lease on its shard s is number 16 slot + s"),
    PrimaryKeyConstraint("cluster", name="ledger_cluster_pkey"),
    UniqueConstraint("slot", name="ledger_cluster_slot_key"),
    comment="Which clusters are on this ledger; each has shards of its own",
)

add_report_tables(metadata)
add_notification_tables(metadata)
