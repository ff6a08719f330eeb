"""Create what outlives the rows of the log: seals, evidence, imported jobs, archive records."""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import INT8MULTIRANGE

from jobledger.adapters.postgres.schema.columns import INSTANT, column

revision = "0104"
down_revision = "0103"
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_seals()
    create_evidence()
    create_archive()


def create_seals() -> None:
    op.create_table(
        "seal",
        column("number", BigInteger, "From 1, without gaps"),
        column("first_position", BigInteger, "First position that it covers"),
        column("last_position", BigInteger, "Last position that it covers"),
        column("document", Text, "The seal as it is kept in files too: JSON, with its signature"),
        PrimaryKeyConstraint("number", name="seal_pkey"),
        comment="What the log looked like when a range of positions was sealed; append only",
    )
    op.create_table(
        "seal_head",
        Column(
            "single",
            Boolean,
            nullable=False,
            server_default=text("true"),
            comment="Always true: there is one row",
        ),
        Column("number", BigInteger, nullable=False, comment="Number of the seal kept last, or 0"),
        Column("digest", LargeBinary, nullable=False, comment="Its digest; zeros while none is"),
        PrimaryKeyConstraint("single", name="seal_head_pkey"),
        comment="Which seal was kept last; only ever moves on",
    )
    op.execute("INSERT INTO seal_head (number, digest) VALUES (0, decode(repeat('00', 32), 'hex'))")


def create_evidence() -> None:
    op.create_table(
        "evidence",
        column("digest", LargeBinary, "SHA-256 of the content: the name that events give it"),
        column("size", Integer, "Bytes of the content"),
        column("packed", LargeBinary, "The content, redacted, compressed with zlib"),
        column("stored_at", INSTANT, "When it was stored first"),
        PrimaryKeyConstraint("digest", name="evidence_pkey"),
        comment="What was captured before it disappeared, named by events; append only",
    )
    op.create_table(
        "imported_job",
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


def create_archive() -> None:
    op.create_table(
        "archive",
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
    op.create_table(
        "archived_stream",
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
    op.create_table(
        "archived_evidence",
        column("digest", LargeBinary, "SHA-256 of the content"),
        column("marked_at", INSTANT, "When an archive held it and no job was about to name it"),
        PrimaryKeyConstraint("digest", name="archived_evidence_pkey"),
        comment="Evidence that archives hold and that may go if no event names it any more",
    )


def downgrade() -> None:
    # Without the records, what was archived would be missing without a word.
    op.execute(
        "DO $$ BEGIN IF EXISTS (SELECT FROM archive) THEN RAISE EXCEPTION "
        "'jobs have been archived; a schema without their records cannot be gone back to' "
        "USING ERRCODE = 'JL002'; END IF; END $$"
    )
    for table in (
        *("archived_evidence", "archived_stream", "archive"),
        *("imported_job", "evidence", "seal_head", "seal"),
    ):
        op.drop_table(table)
