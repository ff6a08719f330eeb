"""Create the seals: what the log looked like, range by range, and the function that adds one."""

from typing import Any

from alembic import op
from sqlalchemy import BigInteger, Column, PrimaryKeyConstraint, Text
from sqlalchemy.types import TypeEngine

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0008"
down_revision = "0006"
branch_labels = None
depends_on = None

READERS = "jobledger_app, jobledger_report"


def column(name: str, kind: "TypeEngine[Any] | type[TypeEngine[Any]]", comment: str) -> Column[Any]:
    return Column(name, kind, nullable=False, comment=comment)


def upgrade() -> None:
    op.create_table(
        "seal",
        column("number", BigInteger, "From 1, without gaps"),
        column("first_position", BigInteger, "First position that it covers"),
        column("last_position", BigInteger, "Last position that it covers"),
        column("document", Text, "The seal as it is kept in files too: JSON, with its signature"),
        PrimaryKeyConstraint("number", name="seal_pkey"),
        comment="What the log looked like when a range of positions was sealed; append only",
    )
    op.execute(
        "CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON seal "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_v1()"
    )
    op.execute(create_function(op.get_bind(), "add_seal_v1"))
    op.execute("REVOKE ALL ON FUNCTION add_seal_v1 FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION add_seal_v1 TO jobledger_app")
    op.execute(f"GRANT SELECT ON seal TO {READERS}")


def downgrade() -> None:
    op.execute("DROP FUNCTION add_seal_v1")
    op.drop_table("seal")
