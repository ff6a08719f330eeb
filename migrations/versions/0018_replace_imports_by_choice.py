"""Replace an imported bundle only where the one that is meant is still kept.

What was kept gave way to whatever was longer, and anybody can make a longer bundle whose chain is
whole. The function now takes what is to be replaced; the one of earlier programs keeps what is new
and replaces nothing.
"""

from alembic import op
from sqlalchemy import DDL

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0018"
down_revision = "0016"
branch_labels = None
depends_on = None

LONGER = """DO UPDATE SET
        events = excluded.events, imported_at = excluded.imported_at, document = excluded.document
    WHERE excluded.events > i.events"""


def upgrade() -> None:
    op.execute(create_function(op.get_bind(), "keep_import_v2"))
    op.execute("REVOKE ALL ON FUNCTION keep_import_v2 FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION keep_import_v2 TO jobledger_app")
    _replace_first(LONGER, "DO NOTHING")


def downgrade() -> None:
    _replace_first("DO NOTHING", LONGER)
    op.execute("DROP FUNCTION keep_import_v2")


def _replace_first(old: str, new: str) -> None:
    """Exchange what the function of earlier programs does where a bundle of the job is kept."""
    made = op.get_bind().exec_driver_sql("SELECT pg_get_functiondef('keep_import_v1'::regproc)")
    definition: str = made.scalar_one()
    again = definition.replace(old, new).replace("%", "%%")
    op.execute(DDL(again))  # type: ignore[no-untyped-call]  # SQLAlchemy left it untyped
