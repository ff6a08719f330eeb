"""Keep snapshots of the folds of open jobs, from which a start goes on; the log does not need them.

They are kept as they are, in the row: to compress one takes longer than to write it.
"""

from alembic import op

from jobledger.adapters.postgres.report_v1.views import literal
from jobledger.adapters.postgres.schema.functions import create_function
from jobledger.adapters.postgres.schema.tables import metadata

revision = "0111"
down_revision = "0110"
branch_labels = None
depends_on = None

FUNCTIONS = ("put_snapshots_v1", "sweep_snapshots_v1")


def upgrade() -> None:
    op.execute("""
        CREATE TABLE snapshot (
            stream_id uuid NOT NULL, version integer NOT NULL, chain bytea NOT NULL,
            folded_by bytea NOT NULL, content bytea NOT NULL, seal bytea NOT NULL,
            CONSTRAINT snapshot_pkey PRIMARY KEY (stream_id)
        ) WITH (toast_tuple_target = 8160)
    """)
    # Not in CREATE TABLE, which has words for it since Postgres 16 only.
    op.execute("ALTER TABLE snapshot ALTER COLUMN content SET STORAGE EXTERNAL")
    table = metadata.tables["snapshot"]
    op.execute(f"COMMENT ON TABLE snapshot IS {literal(table.comment or '')}")
    for column in table.columns:
        op.execute(f"COMMENT ON COLUMN snapshot.{column.name} IS {literal(column.comment or '')}")
    op.execute("GRANT SELECT ON snapshot TO jobledger_app")
    for function in FUNCTIONS:
        op.execute(create_function(op.get_bind(), function))
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO jobledger_app")


def downgrade() -> None:
    for function in reversed(FUNCTIONS):
        op.execute(f"DROP FUNCTION {function}")
    op.execute("DROP TABLE snapshot")
