"""Create the log: events in monthly partitions, where each stream ends, where the log ends."""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from jobledger.adapters.postgres.schema.columns import INSTANT, column

revision = "0101"
down_revision = None
branch_labels = None
depends_on = None

JOB_ID = "UUIDv7 of the job: creation of the Kubernetes object, hash of (cluster, UID)"

LOCKS = (
    ("append_lock", "Its lock is held while the log, leases or rows of jobs are written"),
    ("upkeep_lock", "Its lock is held while partitions are made or a seal is kept"),
)
"""Tables whose locks only the functions of the ledger can take, as they run as the owner."""

LZ4 = """
DO $$
BEGIN
    ALTER TABLE event ALTER COLUMN data SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    RAISE NOTICE 'this Postgres was built without lz4; payloads are compressed with pglz';
END
$$
"""


def upgrade() -> None:
    create_events()
    create_ends()
    for name, comment in LOCKS:
        op.create_table(name, Column("held", Boolean, comment="Nothing"), comment=comment)


def create_events() -> None:
    op.create_table(
        "event",
        column("position", BigInteger, "Place in the whole log, from 1, in commit order, no gaps"),
        column("stream_id", Uuid, JOB_ID),
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
        column("data", JSONB, "Payload, redacted"),
        column("data_sha", LargeBinary, "SHA-256 of the canonical text of data"),
        column("chain", LargeBinary, "SHA-256 of the previous link, the envelope and data_sha"),
        PrimaryKeyConstraint("stream_id", "version", name="event_pkey"),
        UniqueConstraint("stream_id", "event_id", name="event_id_key"),
        comment="The log: everything that was seen and decided, for ever; append only",
        postgresql_partition_by="RANGE (stream_id)",
    )
    op.create_index("event_position", "event", ["position"])
    op.execute(LZ4)
    op.execute("CREATE TABLE event_default PARTITION OF event DEFAULT")


def create_ends() -> None:
    op.create_table(
        "stream",
        column("stream_id", Uuid, JOB_ID),
        column("version", Integer, "Version of the last event"),
        column("chain", LargeBinary, "Link of the last event"),
        column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
        PrimaryKeyConstraint("stream_id", name="stream_pkey"),
        comment="Where each stream ends",
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "log_head",
        Column(
            "single",
            Boolean,
            nullable=False,
            server_default=text("true"),
            comment="Always true: there is one row",
        ),
        column("position", BigInteger, "Position of the last event; 0 for an empty log"),
        PrimaryKeyConstraint("single", name="log_head_pkey"),
        comment="Where the whole log ends",
    )
    op.execute("INSERT INTO log_head (position) VALUES (0)")


def downgrade() -> None:
    for table in (*(name for name, _ in LOCKS), "log_head", "stream", "event"):
        op.drop_table(table)
