"""The tables of notifications: how far the log was read for them, and what waits to be sent."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)

from jobledger.adapters.postgres.schema.columns import INSTANT, column, single


def add_notification_tables(metadata: MetaData) -> None:
    """Add the tables to the metadata of the schema."""
    Table(
        "notification_cursor",
        metadata,
        single(),
        column(
            "position",
            BigInteger,
            "Up to which event somebody was told; empty: nobody is told yet",
            nullable=True,
        ),
        PrimaryKeyConstraint("single", name="notification_cursor_pkey"),
        comment="How far the log was read for notifications",
    )
    Table(
        "notification",
        metadata,
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
        Index("notification_due", "target", "due_at", postgresql_where=text("NOT dead")),
        comment="What targets are to be told and were not yet; what was taken is not kept",
    )
