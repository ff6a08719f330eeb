"""Create the one way into the log, `append_v1`, and the way to compute a job's rows anew."""

from alembic import op

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

FUNCTIONS = ("shard_of_v1", "refuse_event_v1", "put_rows_v1", "append_v1", "rebuild_stream_v1")


def upgrade() -> None:
    for function in FUNCTIONS:
        op.execute(create_function(op.get_bind(), function))


def downgrade() -> None:
    for function in reversed(FUNCTIONS):
        op.execute(f"DROP FUNCTION {function}")
