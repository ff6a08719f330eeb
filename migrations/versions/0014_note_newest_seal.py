"""Note which seal is the newest, so that one that is gone shows."""

from alembic import op
from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    LargeBinary,
    PrimaryKeyConstraint,
    text,
)

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

READERS = "jobledger_app, jobledger_report"


def upgrade() -> None:
    op.create_table(
        "seal_head",
        Column(
            "single",
            Boolean,
            nullable=False,
            server_default=text("true"),
            comment="Always true: there is one row",
        ),
        Column("number", BigInteger, nullable=False, comment="Number of the seal kept last, or 0"),
        Column("digest", LargeBinary, nullable=False, comment="Its digest; zeros while none is"),
        PrimaryKeyConstraint("single", name="seal_head_pkey"),
        comment="Which seal was kept last; only ever moves on",
    )
    op.execute(
        "INSERT INTO seal_head (number, digest) "
        "SELECT coalesce(max(number), 0), coalesce(decode((SELECT substring(document FROM "
        "'\"digest\":\"([0-9a-f]{64})\"') FROM seal ORDER BY number DESC LIMIT 1), 'hex'), "
        "decode(repeat('00', 32), 'hex')) FROM seal"
    )
    op.execute(
        "CREATE TRIGGER refuse_change BEFORE UPDATE ON seal_head FOR EACH ROW "
        "WHEN (NEW.number IS DISTINCT FROM OLD.number + 1) EXECUTE FUNCTION refuse_change_v1()"
    )
    op.execute(
        "CREATE TRIGGER refuse_removal BEFORE DELETE OR TRUNCATE ON seal_head "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_v1()"
    )
    op.execute(create_function(op.get_bind(), "add_seal_v2"))
    op.execute("REVOKE ALL ON FUNCTION add_seal_v2 FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION add_seal_v2 TO jobledger_app")
    op.execute(f"GRANT SELECT ON seal_head TO {READERS}")
    _let_older_programs_note_theirs()


def _let_older_programs_note_theirs() -> None:
    """Let `add_seal_v1`, which a program of the release before calls, do the same."""
    newer = create_function(op.get_bind(), "add_seal_v2").statement
    _replace(newer.replace("add_seal_v2", "add_seal_v1"))


def _replace(function: str) -> None:
    again = function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)
    op.execute(DDL(again))  # type: ignore[no-untyped-call]  # SQLAlchemy left it untyped


def downgrade() -> None:
    _replace(create_function(op.get_bind(), "add_seal_v1").statement)
    op.execute("DROP FUNCTION add_seal_v2")
    op.drop_table("seal_head")
