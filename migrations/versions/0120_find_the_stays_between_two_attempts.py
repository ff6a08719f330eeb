"""Find what a job waited suspended between two attempts by an index, and say what dates an end.

The views keep their columns; nothing is computed anew. Columns of the tables behind them have the
same words.
"""

from alembic import op
from sqlalchemy.schema import SetColumnComment

from jobledger.adapters.postgres.report_v1.views import VIEWS, view_creation
from jobledger.adapters.postgres.schema.functions import current_schema
from jobledger.adapters.postgres.schema.tables import metadata

revision = "0120"
down_revision = "0119"
branch_labels = None
depends_on = None

READERS = "jobledger_app, jobledger_report"


def upgrade() -> None:
    schema = current_schema(op.get_bind())
    op.execute(
        "CREATE INDEX report_phase_queued ON report_phase (stream_id, attempt)"
        " WHERE phase IN ('Suspended', 'Suspending')"
    )
    for view in VIEWS:
        for statement in view_creation(view, schema, READERS, revision):
            op.execute(statement)
    for table in metadata.sorted_tables:
        if table.name.startswith("report_"):
            for column in table.columns:
                op.execute(SetColumnComment(column))


def downgrade() -> None:
    """Leave views and words: the columns are those of the revision before."""
    op.execute("DROP INDEX report_phase_queued")
