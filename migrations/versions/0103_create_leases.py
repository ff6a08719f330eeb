"""Create the leases on shards, the list of replicas that share them, and that of clusters."""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    PrimaryKeyConstraint,
    SmallInteger,
    Text,
    UniqueConstraint,
)

from jobledger.adapters.postgres.schema.columns import INSTANT, column

revision = "0103"
down_revision = "0102"
branch_labels = None
depends_on = None


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
    op.create_table(
        "replica",
        column("owner", Text, "One run of one process, as in shard_lease"),
        column("cluster", Text, "Kubernetes cluster that it serves"),
        column("since", INSTANT, "When it was first heard of"),
        column("until", INSTANT, "When it counts as gone, unless it is heard of again"),
        column("hears", Boolean, "Whether it heard the API server at its last heartbeat"),
        column("heard_at", INSTANT, "When it last did; empty while it starts", nullable=True),
        column("well_since", INSTANT, "Since when it had at every heartbeat", nullable=True),
        PrimaryKeyConstraint("owner", name="replica_pkey"),
        comment="Who shares the work, by their heartbeats",
    )
    op.create_table(
        "ledger_cluster",
        column("cluster", Text, "Kubernetes cluster, as its installation calls it"),
        column("slot", SmallInteger, "Its number: the lease on its shard s is number 16 slot + s"),
        PrimaryKeyConstraint("cluster", name="ledger_cluster_pkey"),
        UniqueConstraint("slot", name="ledger_cluster_slot_key"),
        comment="Which clusters are on this ledger; each has shards of its own",
    )


def downgrade() -> None:
    for table in ("ledger_cluster", "replica", "shard_lease"):
        op.drop_table(table)
