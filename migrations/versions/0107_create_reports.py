"""Create what reports read: tables of facts, their checkpoint, and the views."""

from typing import Any

from alembic import op
from sqlalchemy import Column

from jobledger.adapters.postgres.report_v1.views import creation, literal, removal
from jobledger.adapters.postgres.schema.functions import create_function, current_schema
from jobledger.adapters.postgres.schema.tables import metadata

revision = "0107"
down_revision = "0106"
branch_labels = None
depends_on = None

READERS = "jobledger_app, jobledger_report"
FUNCTIONS = (
    "put_report_facts_v1",
    "put_report_rows_v1",
    "prepare_reports_v1",
    "swap_reports_v1",
)

TABLES = {
    "report_checkpoint": """
        single boolean NOT NULL DEFAULT true, position bigint NOT NULL, recorded_at timestamptz,
        CONSTRAINT report_checkpoint_pkey PRIMARY KEY (single)
    """,
    "report_dimension": """
        dimension_id bigint NOT NULL, cluster text NOT NULL, namespace text NOT NULL,
        kind text NOT NULL, framework text NOT NULL, runtime text NOT NULL, queue text NOT NULL,
        user_name text NOT NULL, image text NOT NULL,
        CONSTRAINT report_dimension_pkey PRIMARY KEY (dimension_id)
    """,
    "report_job": """
        stream_id uuid NOT NULL, dimension_id bigint NOT NULL, name text NOT NULL,
        uid text NOT NULL, phase text NOT NULL, phase_since timestamptz NOT NULL,
        outcome text NOT NULL, reason text NOT NULL, open boolean NOT NULL,
        created_at timestamptz NOT NULL, first_seen_at timestamptz NOT NULL,
        started_at timestamptz, running_at timestamptz, ended_at timestamptz,
        deleted_at timestamptz, last_event_at timestamptz NOT NULL, attempts integer NOT NULL,
        failed_attempts integer NOT NULL, retries integer NOT NULL, events integer NOT NULL,
        suspended_seconds double precision NOT NULL, running_seconds double precision NOT NULL,
        cluster_seconds double precision NOT NULL,
        wasted_cluster_seconds double precision NOT NULL,
        CONSTRAINT report_job_pkey PRIMARY KEY (stream_id)
    """,
    "report_attempt": """
        stream_id uuid NOT NULL, number integer NOT NULL, dimension_id bigint NOT NULL,
        cluster_name text NOT NULL, cluster_shared boolean NOT NULL, generation bigint NOT NULL,
        started_at timestamptz NOT NULL, cluster_created_at timestamptz,
        cluster_ready_at timestamptz, running_at timestamptz, ended_at timestamptz,
        cluster_gone_at timestamptz, outcome text NOT NULL, reason text NOT NULL,
        failure_class text NOT NULL, cause text NOT NULL, retried boolean NOT NULL,
        counted boolean NOT NULL, granted_at timestamptz, waiting_since timestamptz NOT NULL,
        seen_seconds double precision, queue_seconds double precision NOT NULL,
        cluster_seconds double precision NOT NULL,
        CONSTRAINT report_attempt_pkey PRIMARY KEY (stream_id, number)
    """,
    "report_phase": """
        stream_id uuid NOT NULL, number integer NOT NULL, dimension_id bigint NOT NULL,
        attempt integer NOT NULL, phase text NOT NULL, next_phase text NOT NULL,
        entered_at timestamptz NOT NULL, left_at timestamptz,
        CONSTRAINT report_phase_pkey PRIMARY KEY (stream_id, number)
    """,
    "report_failure": """
        stream_id uuid NOT NULL, number integer NOT NULL, dimension_id bigint NOT NULL,
        attempt integer NOT NULL, failed_at timestamptz NOT NULL, reason text NOT NULL,
        failure_class text NOT NULL, cause text NOT NULL, message text NOT NULL,
        exit_code integer, ran boolean NOT NULL, retried boolean NOT NULL,
        final boolean NOT NULL,
        CONSTRAINT report_failure_pkey PRIMARY KEY (stream_id, number)
    """,
    "report_decision": """
        stream_id uuid NOT NULL, decision_id uuid NOT NULL, dimension_id bigint NOT NULL,
        attempt integer NOT NULL, decision text NOT NULL, state text NOT NULL,
        scheduled_at timestamptz NOT NULL, due_at timestamptz NOT NULL, resolved_at timestamptz,
        lateness_ms double precision, cause text NOT NULL, resolution text NOT NULL,
        CONSTRAINT report_decision_pkey PRIMARY KEY (stream_id, decision_id)
    """,
    "report_gap": """
        stream_id uuid NOT NULL, number integer NOT NULL, dimension_id bigint NOT NULL,
        source text NOT NULL, since_at timestamptz NOT NULL, until_at timestamptz NOT NULL,
        found_at timestamptz NOT NULL, reason text NOT NULL,
        CONSTRAINT report_gap_pkey PRIMARY KEY (stream_id, number)
    """,
    "report_activity": """
        stream_id uuid NOT NULL, hour timestamptz NOT NULL, dimension_id bigint NOT NULL,
        events integer NOT NULL, observations integer NOT NULL,
        effects_requested integer NOT NULL, effects_succeeded integer NOT NULL,
        effects_faltered integer NOT NULL, effects_failed integer NOT NULL,
        effects_superseded integer NOT NULL, decisions_fired integer NOT NULL,
        decisions_cancelled integer NOT NULL, status_writes integer NOT NULL,
        failed_status_checks integer NOT NULL, gaps integer NOT NULL,
        lateness_ms_max double precision, lateness_ms_sum double precision NOT NULL,
        CONSTRAINT report_activity_pkey PRIMARY KEY (stream_id, hour)
    """,
}
"""Tables, as they were in this revision; what their columns mean stands in the code."""

INDEXES = (
    "report_job_created ON report_job (created_at)",
    "report_job_ended ON report_job (ended_at)",
    "report_job_name ON report_job (name)",
    "report_job_open ON report_job (phase_since) WHERE open",
    "report_attempt_granted ON report_attempt (granted_at) WHERE retried",
    "report_attempt_started ON report_attempt (started_at)",
    "report_phase_entered ON report_phase (entered_at)",
    "report_failure_failed ON report_failure (failed_at)",
    "report_decision_due ON report_decision (due_at)",
    "report_gap_since ON report_gap (since_at)",
    "report_activity_hour ON report_activity (hour)",
)


def upgrade() -> None:
    for name, columns in TABLES.items():
        op.execute(f"CREATE TABLE {name} ({columns})")
        op.execute(f"GRANT SELECT ON {name} TO jobledger_app")
        explain(name)
    for index in INDEXES:
        op.execute(f"CREATE INDEX {index}")
    op.execute("INSERT INTO report_checkpoint (position) VALUES (0)")
    for statement in creation(current_schema(op.get_bind()), READERS, revision):
        op.execute(statement)
    for name in FUNCTIONS:
        op.execute(create_function(op.get_bind(), name))
        op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {name} TO jobledger_app")


def downgrade() -> None:
    for name in reversed(FUNCTIONS):
        op.execute(f"DROP FUNCTION {name}")
    for statement in removal(current_schema(op.get_bind())):
        op.execute(statement)
    for name in reversed(TABLES):
        op.execute(f"DROP TABLE {name}")


def explain(name: str) -> None:
    """Comment a table and its columns, those that the code still has."""
    table = metadata.tables.get(name)
    if table is None:
        return
    op.execute(f"COMMENT ON TABLE {name} IS {literal(table.comment or '')}")
    present = {part.split()[0] for part in TABLES[name].replace("\n", " ").split(",")}
    for column in table.columns:
        if column.name in present:
            op.execute(comment(name, column))


def comment(name: str, column: Column[Any]) -> str:
    return f"COMMENT ON COLUMN {name}.{column.name} IS {literal(column.comment or '')}"
