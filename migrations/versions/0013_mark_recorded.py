"""Mark jobs that are only recorded, and attempts that were inferred from another controller."""

from alembic import op
from sqlalchemy import DDL, Boolean, Column, false

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

WRITERS = ("append_v1", "rebuild_stream_v1")
"""Functions that put rows; they call `put_rows_v2` from here on."""

COLUMNS = (
    ("job", "recorded", "Whether another controller decides about it, and it is only recorded"),
    ("attempt", "inferred", "Whether its life is inferred from what another controller did"),
)


def upgrade() -> None:
    for table, name, comment in COLUMNS:
        column = Column(name, Boolean, nullable=False, comment=comment, server_default=false())
        op.add_column(table, column)
    op.execute(create_function(op.get_bind(), "put_rows_v2"))
    op.execute("REVOKE ALL ON FUNCTION put_rows_v2 FROM PUBLIC")
    _let_writers_call("put_rows_v2")


def downgrade() -> None:
    _let_writers_call("put_rows_v1")
    op.execute("DROP FUNCTION put_rows_v2")
    for table, name, _ in COLUMNS:
        op.drop_column(table, name)


def _let_writers_call(function: str) -> None:
    for writer in WRITERS:
        text = create_function(op.get_bind(), writer).statement
        text = text.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)
        op.execute(DDL(text.replace("put_rows_v1", function)))  # type: ignore[no-untyped-call]  # SQLAlchemy left it untyped
