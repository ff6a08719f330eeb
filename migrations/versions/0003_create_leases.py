"""Create the leases on shards and the functions that give and take them."""

from typing import Any

from alembic import op
from sqlalchemy import BigInteger, Column, PrimaryKeyConstraint, SmallInteger, Text
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.types import TypeEngine

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

INSTANT = TIMESTAMP(timezone=True)


def column(
    name: str,
    kind: "TypeEngine[Any] | type[TypeEngine[Any]]",
    comment: str,
    *,
    nullable: bool = False,
) -> Column[Any]:
    return Column(name, kind, nullable=nullable, comment=comment)


def upgrade() -> None:
    op.create_table(
        "shard_lease",
        column("shard", SmallInteger, "Part of the work, from 0"),
        column("epoch", BigInteger, "Grows with every change of hands; checked by append"),
        column("owner", Text, "One run of one process; empty when it was given up"),
        column("until", INSTANT, "When the lease ends, by the clock of the database"),
        PrimaryKeyConstraint("shard", name="shard_lease_pkey"),
        comment="Who may write for which part of the work",
    )
    for function in ("acquire_shards_v1", "release_shards_v1"):
        op.execute(create_function(op.get_bind(), function))


def downgrade() -> None:
    op.execute("DROP FUNCTION release_shards_v1")
    op.execute("DROP FUNCTION acquire_shards_v1")
    op.drop_table("shard_lease")
