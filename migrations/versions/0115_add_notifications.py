"""Add how far the log was read for notifications, and what waits to be sent."""

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Integer, PrimaryKeyConstraint, Text, Uuid, text

from jobledger.adapters.postgres.schema.columns import INSTANT, column
from jobledger.adapters.postgres.schema.functions import create_function

revision = "0115"
down_revision = "0114"
branch_labels = None
depends_on = None

READERS = "jobledger_app, jobledger_report"
FUNCTIONS = (
    "put_notifications_v1",
    "take_notifications_v1",
    "settle_notification_v1",
    "clear_dead_notifications_v1",
)


def upgrade() -> None:
    single = Column(
        "single",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="Always true: there is one row",
    )
    position = column(
        "position",
        BigInteger,
        "Up to which event somebody was told; empty: nobody is told yet",
        nullable=True,
    )
    op.create_table(
        "notification_cursor",
        single,
        position,
        PrimaryKeyConstraint("single", name="notification_cursor_pkey"),
        comment="How far the log was read for notifications",
    )
    op.execute("INSERT INTO notification_cursor DEFAULT VALUES")
    create_notification()
    op.execute(f"GRANT SELECT ON notification_cursor, notification TO {READERS}")
    for function in FUNCTIONS:
        op.execute(create_function(op.get_bind(), function))
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO jobledger_app")


def create_notification() -> None:
    op.create_table(
        "notification",
        column("notice_id", Uuid, "UUIDv5 of the event, the rule and the target"),
        column("target", Text, "Who is told, by the name in the rules"),
        column("rule", Text, "Because of which rule"),
        column("position", BigInteger, "Event that it tells of"),
        column("occasion", Text, "What is told, redacted: JSON"),
        column("made_at", INSTANT, "When it was put here"),
        column("due_at", INSTANT, "When it is sent, or was given up if it is dead"),
        column("tries", Integer, "How often it was tried"),
        column("dead", Boolean, "Whether it was given up"),
        column("trouble", Text, "Why it was not taken last; empty if it was not tried"),
        PrimaryKeyConstraint("notice_id", name="notification_pkey"),
        comment="What targets are to be told and were not yet; what was taken is not kept",
    )
    op.create_index(
        "notification_due",
        "notification",
        ["target", "due_at"],
        postgresql_where=text("NOT dead"),
    )


def downgrade() -> None:
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
    op.drop_table("notification")
    op.drop_table("notification_cursor")
