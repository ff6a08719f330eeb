"""Find jobs quickly however many there are: indexes for the filters of the list."""

from alembic import op

revision = "0110"
down_revision = "0109"
branch_labels = None
depends_on = None

INDEXES = (
    "job_phase ON job (phase, stream_id)",
    "job_uid ON job (uid text_pattern_ops)",
    "report_failure_cause ON report_failure (cause, stream_id)",
    "report_job_labels ON report_job USING gin ((labels::jsonb))",
)


def upgrade() -> None:
    for index in INDEXES:
        op.execute(f"CREATE INDEX {index}")
    remake_job_name("namespace, name, stream_id")


def downgrade() -> None:
    remake_job_name("namespace, name")
    for index in reversed(INDEXES):
        op.execute(f"DROP INDEX {index.split()[0]}")


def remake_job_name(columns: str) -> None:
    """Make the index by name anew: with the stream a search by text reads nothing else."""
    op.execute("DROP INDEX job_name")
    op.execute(f"CREATE INDEX job_name ON job ({columns})")
