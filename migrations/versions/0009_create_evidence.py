"""Create the store of evidence, by digest, and that of imported jobs, with their functions."""

from typing import Any

from alembic import op
from sqlalchemy import Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, Text, Uuid
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.types import TypeEngine

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

INSTANT = TIMESTAMP(timezone=True)
READERS = "jobledger_app, jobledger_report"
FUNCTIONS = ("put_evidence_v1", "keep_import_v1")


def column(name: str, kind: "TypeEngine[Any] | type[TypeEngine[Any]]", comment: str) -> Column[Any]:
    return Column(name, kind, nullable=False, comment=comment)


def upgrade() -> None:
    op.create_table(
        "evidence",
        column("digest", LargeBinary, "SHA-256 of the content: the name that events give it"),
        column("size", Integer, "Bytes of the content"),
        column("packed", LargeBinary, "The content, redacted, compressed with zlib"),
        column("stored_at", INSTANT, "When it was stored first"),
        PrimaryKeyConstraint("digest", name="evidence_pkey"),
        comment="What was captured before it disappeared, named by events; append only",
    )
    op.execute(
        "CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON evidence "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_v1()"
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
    for function in FUNCTIONS:
        op.execute(create_function(op.get_bind(), function))
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO jobledger_app")
    op.execute(f"GRANT SELECT ON evidence, imported_job TO {READERS}")


def downgrade() -> None:
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
    op.drop_table("imported_job")
    op.drop_table("evidence")
