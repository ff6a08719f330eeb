"""Add when the program of an attempt was first seen at work: to the facts and to a view.

The reporting tables are computed anew from the log, by the service, in its own time.
"""

from alembic import op

from jobledger.adapters.postgres.report_v1.of_failures import START
from jobledger.adapters.postgres.report_v1.views import (
    literal,
    quoted,
    schema_of_views,
    view_creation,
)
from jobledger.adapters.postgres.schema.functions import current_schema
from jobledger.adapters.postgres.schema.tables import metadata

revision = "0114"
down_revision = "0113"
branch_labels = None
depends_on = None

READERS = "jobledger_app, jobledger_report"


def upgrade() -> None:
    op.execute("ALTER TABLE report_attempt ADD COLUMN first_step_at timestamptz")
    meaning = metadata.tables["report_attempt"].c.first_step_at.comment or ""
    op.execute(f"COMMENT ON COLUMN report_attempt.first_step_at IS {literal(meaning)}")
    make_view(revision)
    op.execute("UPDATE report_checkpoint SET position = 0, recorded_at = NULL WHERE single")


def downgrade() -> None:
    op.execute(f"DROP VIEW {quoted(schema_of_views(current_schema(op.get_bind())))}.{START.name}")
    op.execute("ALTER TABLE report_attempt DROP COLUMN first_step_at")
    make_view(down_revision)


def make_view(upto: str) -> None:
    for statement in view_creation(START, current_schema(op.get_bind()), READERS, upto):
        op.execute(statement)
