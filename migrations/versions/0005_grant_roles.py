"""Give the roles what they need and nothing more: the service calls functions, reports read."""

from alembic import op

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLES = "event, stream, log_head, job, attempt, decision, effect, shard_lease, alembic_version"
FOR_THE_SERVICE = (
    "append_v1",
    "rebuild_stream_v1",
    "acquire_shards_v1",
    "release_shards_v1",
    "ensure_partitions_v1",
)
INTERNAL = ("put_rows_v1", "refuse_event_v1", "refuse_change_v1")


def upgrade() -> None:
    op.execute(create_function(op.get_bind(), "create_roles_v1"))
    op.execute("SELECT create_roles_v1()")
    op.execute("DROP FUNCTION create_roles_v1")
    schema = current_schema()
    op.execute(f"GRANT USAGE ON SCHEMA {schema} TO jobledger_app, jobledger_report")
    op.execute(f"GRANT SELECT ON {TABLES} TO jobledger_app, jobledger_report")
    for function in (*FOR_THE_SERVICE, *INTERNAL):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    for function in FOR_THE_SERVICE:
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO jobledger_app")


def downgrade() -> None:
    # The roles themselves stay: they belong to the whole server, other databases may use them.
    for function in FOR_THE_SERVICE:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM jobledger_app")
    op.execute(f"REVOKE ALL ON {TABLES} FROM jobledger_app, jobledger_report")
    op.execute(f"REVOKE USAGE ON SCHEMA {current_schema()} FROM jobledger_app, jobledger_report")


def current_schema() -> str:
    connection = op.get_bind()
    name = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
    return connection.dialect.identifier_preparer.quote_identifier(name)
