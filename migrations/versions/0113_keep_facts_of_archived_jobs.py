"""Keep what reports say of a job when it leaves the log for an archive.

Functions are put in place of those of the same names: they ask for nothing that is new, so programs
from before work with them too, and nothing has to be put back on the way down.
"""

from alembic import op

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0113"
down_revision = "0111"
branch_labels = None
depends_on = None

FUNCTIONS = (
    "forget_jobs_v1",
    "remove_archived_v1",
    "drop_archived_partition_v1",
    "put_report_facts_v1",
    "swap_reports_v1",
)


def upgrade() -> None:
    for name in FUNCTIONS:
        op.execute(create_function(op.get_bind(), name, or_replace=True))


def downgrade() -> None:
    """Leave the functions: those of the revision before made reports forget archived jobs."""
