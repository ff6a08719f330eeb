"""Create what retention needs: records of what was archived, and functions that remove it."""

from typing import Any

from alembic import op
from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import INT8MULTIRANGE, TIMESTAMP
from sqlalchemy.types import TypeEngine

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

INSTANT = TIMESTAMP(timezone=True)
READERS = "jobledger_app, jobledger_report"
TRIGGERS = ("refuse_unarchived_v1", "refuse_archived_v1", "refuse_kept_evidence_v1")
FOR_THE_OWNER = (
    "forget_jobs_v1",
    "keep_archive_v1",
    "remove_archived_v1",
    "archived_events_v1",
    "drop_archived_partition_v1",
    "sweep_evidence_v1",
)
FOR_THE_SERVICE = ("analyze_grown_v1",)
FUNCTIONS = (*TRIGGERS, *FOR_THE_OWNER, *FOR_THE_SERVICE)

HOT = ("stream", "job", "attempt", "decision", "effect", "log_head", "shard_lease")
"""Tables whose rows are changed in place, most of them many times."""

VACUUM = {"autovacuum_vacuum_scale_factor": "0.02", "autovacuum_analyze_scale_factor": "0.05"}
"""Dead rows of a hot table are cleared away from 2 % on, not 20: its pages stay in memory."""


def column(name: str, kind: "TypeEngine[Any] | type[TypeEngine[Any]]", comment: str) -> Column[Any]:
    return Column(name, kind, nullable=False, comment=comment)


def upgrade() -> None:
    create_tables()
    for function in FUNCTIONS:
        op.execute(create_function(op.get_bind(), function))
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    for function in FOR_THE_SERVICE:
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO jobledger_app")
    op.execute(f"GRANT SELECT ON archive, archived_stream, archived_evidence TO {READERS}")
    let_archived_rows_go()
    settings = ", ".join(f"{name} = {value}" for name, value in VACUUM.items())
    for table in HOT:
        op.execute(f"ALTER TABLE {table} SET ({settings})")


def create_tables() -> None:
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
    for table in ("archive", "archived_stream"):
        op.execute(
            f"CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_v1()"
        )


def let_archived_rows_go() -> None:
    op.execute("DROP TRIGGER refuse_change ON event")
    op.execute(
        "CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON event "
        "FOR EACH ROW EXECUTE FUNCTION refuse_unarchived_v1()"
    )
    op.execute("DROP TRIGGER refuse_removal ON stream")
    op.execute(
        "CREATE TRIGGER refuse_removal BEFORE DELETE ON stream "
        "FOR EACH ROW EXECUTE FUNCTION refuse_unarchived_v1()"
    )
    op.execute(
        "CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON stream "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_v1()"
    )
    op.execute(
        "CREATE TRIGGER refuse_archived AFTER INSERT ON stream "
        "FOR EACH ROW EXECUTE FUNCTION refuse_archived_v1()"
    )
    op.execute("DROP TRIGGER refuse_change ON evidence")
    op.execute(
        "CREATE TRIGGER refuse_change BEFORE UPDATE OR TRUNCATE ON evidence "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_v1()"
    )
    op.execute(
        "CREATE TRIGGER refuse_removal BEFORE INSERT OR DELETE ON evidence "
        "FOR EACH ROW EXECUTE FUNCTION refuse_kept_evidence_v1()"
    )


def downgrade() -> None:
    # Without the records, what was archived would be missing without a word.
    op.execute(
        "DO $$ BEGIN IF EXISTS (SELECT FROM archive) THEN RAISE EXCEPTION "
        "'jobs have been archived; a schema without their records cannot be gone back to' "
        "USING ERRCODE = 'JL002'; END IF; END $$"
    )
    op.execute("DROP TRIGGER refuse_removal ON evidence")
    op.execute("DROP TRIGGER refuse_change ON evidence")
    op.execute(
        "CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON evidence "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_v1()"
    )
    for trigger in ("refuse_archived", "refuse_truncate", "refuse_removal"):
        op.execute(f"DROP TRIGGER {trigger} ON stream")
    op.execute(
        "CREATE TRIGGER refuse_removal BEFORE DELETE OR TRUNCATE ON stream "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_v1()"
    )
    op.execute("DROP TRIGGER refuse_change ON event")
    op.execute(
        "CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON event "
        "FOR EACH ROW EXECUTE FUNCTION refuse_change_v1()"
    )
    for function in reversed(FUNCTIONS):
        op.execute(f"DROP FUNCTION {function}")
    for table in ("archived_evidence", "archived_stream", "archive"):
        op.drop_table(table)
    for table in HOT:
        op.execute(f"ALTER TABLE {table} RESET ({', '.join(VACUUM)})")
