"""Give the roles what they need and nothing more: the service calls functions, reports read."""

from alembic import op

from jobledger.adapters.postgres.schema.functions import create_function, current_schema

revision = "0106"
down_revision = "0105"
branch_labels = None
depends_on = None

READERS = "jobledger_app, jobledger_report"
TABLES = (
    "event, stream, log_head, append_lock, upkeep_lock, job, attempt, decision, effect, "
    "shard_lease, replica, ledger_cluster, seal, seal_head, evidence, imported_job, "
    "archive, archived_stream, archived_evidence, alembic_version"
)
FOR_THE_SERVICE = (
    *("append_v1", "rebuild_stream_v1", "ensure_partitions_v1", "analyze_grown_v1"),
    *("slot_of_v1", "acquire_shards_v1", "release_shards_v1"),
    *("beat_v1", "leave_v1", "give_shards_v1"),
    *("add_seal_v1", "put_evidence_v1", "keep_import_v1"),
)
FOR_THE_OWNER = (
    *("refuse_change_v1", "refuse_unarchived_v1", "refuse_archived_v1", "refuse_kept_evidence_v1"),
    *("refuse_event_v1", "put_rows_v1"),
    *("forget_jobs_v1", "keep_archive_v1", "remove_archived_v1", "archived_events_v1"),
    *("drop_archived_partition_v1", "sweep_evidence_v1"),
)
FOR_ALL = ("shard_of_v1", "first_stream_of_v1")
"""They compute; Postgres grants them to everybody unless default privileges were taken away."""


def upgrade() -> None:
    op.execute(create_function(op.get_bind(), "create_roles_v1"))
    op.execute("SELECT create_roles_v1()")
    op.execute("DROP FUNCTION create_roles_v1")
    op.execute(f"GRANT USAGE ON SCHEMA {quoted_schema()} TO {READERS}")
    op.execute(f"GRANT SELECT ON {TABLES} TO {READERS}")
    for function in (*FOR_THE_SERVICE, *FOR_THE_OWNER):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    for function in FOR_THE_SERVICE:
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO jobledger_app")
    for function in FOR_ALL:
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO PUBLIC")


def downgrade() -> None:
    # The roles themselves stay: they belong to the whole server, other databases may use them.
    for function in FOR_THE_SERVICE:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM jobledger_app")
    op.execute(f"REVOKE ALL ON {TABLES} FROM {READERS}")
    op.execute(f"REVOKE USAGE ON SCHEMA {quoted_schema()} FROM {READERS}")


def quoted_schema() -> str:
    connection = op.get_bind()
    name = current_schema(connection)
    return connection.dialect.identifier_preparer.quote_identifier(name)
