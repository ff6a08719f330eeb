"""Create the functions that write and keep the log, and the triggers that refuse all else."""

from alembic import op

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0105"
down_revision = "0104"
branch_labels = None
depends_on = None

FUNCTIONS = (
    *("refuse_change_v1", "refuse_unarchived_v1", "refuse_archived_v1", "refuse_kept_evidence_v1"),
    *("first_stream_of_v1", "ensure_partitions_v1", "analyze_grown_v1"),
    *("slot_of_v1", "acquire_shards_v1", "release_shards_v1"),
    *("beat_v1", "leave_v1", "give_shards_v1"),
    *("shard_of_v1", "refuse_event_v1", "put_rows_v1", "append_v1", "rebuild_stream_v1"),
    *("add_seal_v1", "put_evidence_v1", "keep_import_v1"),
    *("forget_jobs_v1", "keep_archive_v1", "remove_archived_v1", "archived_events_v1"),
    *("drop_archived_partition_v1", "sweep_evidence_v1"),
)

TRIGGERS = (
    ("event", "refuse_change BEFORE UPDATE OR DELETE", "ROW", "refuse_unarchived_v1"),
    # Triggers for rows are inherited by partitions, those for statements are not.
    ("event", "refuse_truncate BEFORE TRUNCATE", "STATEMENT", "refuse_change_v1"),
    ("event_default", "refuse_truncate BEFORE TRUNCATE", "STATEMENT", "refuse_change_v1"),
    ("stream", "refuse_removal BEFORE DELETE", "ROW", "refuse_unarchived_v1"),
    ("stream", "refuse_truncate BEFORE TRUNCATE", "STATEMENT", "refuse_change_v1"),
    ("stream", "refuse_archived AFTER INSERT", "ROW", "refuse_archived_v1"),
    ("log_head", "refuse_removal BEFORE DELETE OR TRUNCATE", "STATEMENT", "refuse_change_v1"),
    ("seal", "refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE", "STATEMENT", "refuse_change_v1"),
    (
        "seal_head",
        "refuse_change BEFORE UPDATE",
        "ROW WHEN (NEW.number IS DISTINCT FROM OLD.number + 1)",
        "refuse_change_v1",
    ),
    ("seal_head", "refuse_removal BEFORE DELETE OR TRUNCATE", "STATEMENT", "refuse_change_v1"),
    ("evidence", "refuse_change BEFORE UPDATE OR TRUNCATE", "STATEMENT", "refuse_change_v1"),
    ("evidence", "refuse_removal BEFORE INSERT OR DELETE", "ROW", "refuse_kept_evidence_v1"),
    *(
        (
            table,
            "refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE",
            "STATEMENT",
            "refuse_change_v1",
        )
        for table in ("archive", "archived_stream")
    ),
)
"""Table, name with occasion, what it is called for, function."""

HOT = ("stream", "job", "attempt", "decision", "effect", "log_head", "shard_lease")
"""Tables whose rows are changed in place, most of them many times."""

VACUUM = {"autovacuum_vacuum_scale_factor": "0.02", "autovacuum_analyze_scale_factor": "0.05"}
"""Dead rows of a hot table are cleared away from 2 % on, not 20: its pages stay in memory."""


def upgrade() -> None:
    for function in FUNCTIONS:
        op.execute(create_function(op.get_bind(), function))
    for table, occasion, each, function in TRIGGERS:
        name, _, when = occasion.partition(" ")
        op.execute(
            f"CREATE TRIGGER {name} {when} ON {table} FOR EACH {each} EXECUTE FUNCTION {function}()"
        )
    settings = ", ".join(f"{name} = {value}" for name, value in VACUUM.items())
    for table in HOT:
        op.execute(f"ALTER TABLE {table} SET ({settings})")


def downgrade() -> None:
    for table in HOT:
        op.execute(f"ALTER TABLE {table} RESET ({', '.join(VACUUM)})")
    # A function of triggers takes them with it, those on the partitions of months as well.
    for function in reversed(FUNCTIONS):
        op.execute(f"DROP FUNCTION {function} CASCADE")
