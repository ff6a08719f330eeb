"""Let an append ask whose lease it is, besides its epoch.

A database that has lost its newest transactions gives an epoch a second time: to another owner, as
the first still believes in it. The writer of an event, its `actor`, is the owner of its lease, as
in every program that was released; so nothing new has to be sent. Name, arguments, rights and
results of the function stay.
"""

from alembic import op
from sqlalchemy import DDL

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

JUDGED = (
    "WHEN l.epoch IS DISTINCT FROM p.epoch OR l.owner = '' THEN 'fenced'",
    """WHEN l.epoch IS DISTINCT FROM p.epoch OR l.owner = '' THEN 'fenced'
                -- After a failover that lost the newest leases an epoch may be given once more.
                WHEN l.owner IS DISTINCT FROM event_actor[p.first_event] THEN 'fenced'""",
)
"""What fenced a part, and what does now."""

PARTS = (
    """FROM unnest(part_stream, part_expected, part_epoch)
            WITH ORDINALITY AS p (stream_id, expected, epoch, number)""",
    """FROM (
            SELECT u.stream_id, u.expected, u.epoch, u.number,
                (sum(u.size) OVER (ORDER BY u.number) - u.size + 1)::integer AS first_event
            FROM unnest(part_stream, part_expected, part_epoch, part_size)
                WITH ORDINALITY AS u (stream_id, expected, epoch, size, number)
        ) p""",
)
"""The parts that are judged, and the same with the number of the first event of each."""


def upgrade() -> None:
    _replace(*JUDGED)
    _replace(*PARTS)


def downgrade() -> None:
    _replace(*JUDGED[::-1])
    _replace(*PARTS[::-1])


def _replace(old: str, new: str) -> None:
    """Exchange a text in `append_v1`; all else of it stays."""
    connection = op.get_bind()
    definition = connection.exec_driver_sql(
        "SELECT pg_get_functiondef(p.oid) FROM pg_proc p "
        "JOIN pg_namespace n ON n.oid = p.pronamespace "
        "WHERE n.nspname = current_schema() AND p.proname = 'append_v1'"
    ).scalar_one()
    if definition.count(old) != 1:
        raise RuntimeError(
            "append_v1 is not what the migrations before have made: run `jobledger doctor`"
        )
    text = definition.replace(old, new).replace("%", "%%")
    op.execute(DDL(text))  # type: ignore[no-untyped-call]  # SQLAlchemy left it untyped
