"""Add on which node a failure was: to the facts and to the view of failures.

The reporting tables are computed anew from the log, by the service, in its own time.
"""

from alembic import op

from jobledger.adapters.postgres.report_v1.of_failures import FAILURES
from jobledger.adapters.postgres.report_v1.views import (
    literal,
    quoted,
    schema_of_views,
    view_creation,
)
from jobledger.adapters.postgres.schema.functions import current_schema
from jobledger.adapters.postgres.schema.tables import metadata

revision = "0108"
down_revision = "0107"
branch_labels = None
depends_on = None

READERS = "jobledger_app, jobledger_report"


def upgrade() -> None:
    op.execute("ALTER TABLE report_failure ADD COLUMN node text")
    meaning = metadata.tables["report_failure"].c.node.comment or ""
    op.execute(f"COMMENT ON COLUMN report_failure.node IS {literal(meaning)}")
    make_view(revision)
    op.execute("UPDATE report_checkpoint SET position = 0, recorded_at = NULL WHERE single")


def downgrade() -> None:
    view = f"{quoted(schema_of_views(current_schema(op.get_bind())))}.{FAILURES.name}"
    op.execute(f"DROP VIEW {view}")
    op.execute("ALTER TABLE report_failure DROP COLUMN node")
    make_view(down_revision)


def make_view(upto: str) -> None:
    for statement in view_creation(FAILURES, current_schema(op.get_bind()), READERS, upto):
        op.execute(statement)
