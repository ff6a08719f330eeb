"""Store payloads as the canonical text they are hashed in: `json` in place of `jsonb`.

Payloads that are there stay as `jsonb` wrote them, which verifies as before. The log is written
anew, some ten seconds for each million events; appends wait meanwhile.
"""

from alembic import op

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0117"
down_revision = "0116"
branch_labels = None
depends_on = None

FUNCTIONS = ("append_v1", "sweep_evidence_v1")
TYPE = "ALTER TABLE event ALTER COLUMN data TYPE"
COMPRESSED_AGAIN = """
DO $$
DECLARE
    one regclass;
BEGIN
    FOR one IN SELECT relid FROM pg_partition_tree('event') LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN data SET COMPRESSION lz4', one);
    END LOOP;
EXCEPTION WHEN feature_not_supported THEN
    RAISE NOTICE 'this Postgres was built without lz4; payloads are compressed with pglz';
END
$$
"""
"""A column that changes its type loses how it is compressed."""


def upgrade() -> None:
    op.execute(f"{TYPE} json USING data::text::json")
    op.execute("COMMENT ON COLUMN event.data IS 'Payload, redacted: its canonical text'")
    op.execute(COMPRESSED_AGAIN)
    for name in FUNCTIONS:
        op.execute(create_function(op.get_bind(), name, or_replace=True))


def downgrade() -> None:
    """Leave the functions, which write either type."""
    op.execute(f"{TYPE} jsonb USING data::jsonb")
    op.execute("COMMENT ON COLUMN event.data IS 'Payload, redacted'")
    op.execute(COMPRESSED_AGAIN)
