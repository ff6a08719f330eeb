"""Index the finished jobs whose object is still there: a restart reads them, and no others."""

from alembic import op
from sqlalchemy import text

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "job_there",
        "job",
        ["stream_id"],
        postgresql_where=text("NOT open AND deleted_at IS NULL"),
    )


def downgrade() -> None:
    op.drop_index("job_there", "job")
