"""Let appends queue on a lock that only the functions of the ledger can take.

An advisory lock can be taken by every login of the database, in a session that does nothing else.
A table is locked only by who may change it: its owner, as whom the functions run.

Every function that took the advisory lock takes the table's in its place; name, arguments, rights
and results stay, so an earlier program works on. An append that had entered the old function waits
for the old lock and is then refused (SQLSTATE 40001), because it could not see the new ones beside
it: each append counts itself in `log_head.appends`, and what does not is none of the new.
"""

from alembic import op
from sqlalchemy import DDL, BigInteger, Boolean, Column

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

READERS = "jobledger_app, jobledger_report"

LOCKS = (
    ("append_lock", "1", "Its lock is held while the log, leases or rows of jobs are written"),
    ("upkeep_lock", "2", "Its lock is held while partitions are made or a seal is kept"),
)
"""Table, the second number of the advisory lock before, and what it is for."""

COUNTED = ("SET position = last_position + accepted", ", appends = appends + 1")
"""What an append says of the end of the log, and what is added to it."""


def upgrade() -> None:
    # First, and until the end: whoever has read the end of the log has ended, nobody reads it now.
    op.add_column(
        "log_head",
        Column(
            "appends",
            BigInteger,
            nullable=False,
            server_default="0",
            comment="How many appends there were since this is counted",
        ),
    )
    op.execute(create_function(op.get_bind(), "refuse_earlier_append_v1"))
    op.execute("REVOKE ALL ON FUNCTION refuse_earlier_append_v1 FROM PUBLIC")
    op.execute(
        "CREATE TRIGGER refuse_earlier_append BEFORE UPDATE ON log_head FOR EACH ROW "
        "WHEN (NEW.appends = OLD.appends) EXECUTE FUNCTION refuse_earlier_append_v1()"
    )
    for table, number, comment in LOCKS:
        op.create_table(table, Column("held", Boolean, comment="Nothing"), comment=comment)
        op.execute(f"GRANT SELECT ON {table} TO {READERS}")
        _replace(_advisory(number), _of_table(table))
    _replace(COUNTED[0], "".join(COUNTED))


def downgrade() -> None:
    _replace("".join(COUNTED), COUNTED[0])
    for table, number, _ in LOCKS:
        _replace(_of_table(table), _advisory(number))
        op.drop_table(table)
    op.execute("DROP TRIGGER refuse_earlier_append ON log_head")
    op.execute("DROP FUNCTION refuse_earlier_append_v1")
    op.drop_column("log_head", "appends")


def _advisory(number: str) -> str:
    return f"PERFORM pg_advisory_xact_lock(1246708300, {number})"


def _of_table(table: str) -> str:
    connection = op.get_bind()
    schema = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
    quoted = connection.dialect.identifier_preparer.quote_identifier(schema)
    return f"LOCK TABLE {quoted}.{table} IN EXCLUSIVE MODE"


def _replace(old: str, new: str) -> None:
    """Exchange a text in every function of the ledger that has it; all else of them stays."""
    found = op.get_bind().exec_driver_sql(
        "SELECT pg_get_functiondef(p.oid) FROM pg_proc p "
        "JOIN pg_namespace n ON n.oid = p.pronamespace "
        "WHERE n.nspname = current_schema() AND p.prokind = 'f' "
        "AND position(%s IN p.prosrc) > 0 ORDER BY p.proname",
        (old,),
    )
    for definition in found.scalars().all():
        text = definition.replace(old, new).replace("%", "%%")
        op.execute(DDL(text))  # type: ignore[no-untyped-call]  # SQLAlchemy left it untyped
