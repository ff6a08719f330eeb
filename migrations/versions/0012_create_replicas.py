"""Create the list of replicas that share the work, and give each cluster shards of its own."""

from typing import Any

from alembic import op
from sqlalchemy import (
    DDL,
    Boolean,
    Column,
    PrimaryKeyConstraint,
    SmallInteger,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.types import TypeEngine

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

INSTANT = TIMESTAMP(timezone=True)
FUNCTIONS = ("slot_of_v1", "acquire_shards_v2", "beat_v1", "leave_v1", "give_shards_v1")
READERS = "jobledger_app, jobledger_report"


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
    # Who has been here so far keeps the shards it has.
    op.execute(
        "INSERT INTO ledger_cluster (cluster, slot) "
        "SELECT cluster, 0 FROM job ORDER BY last_event_at DESC LIMIT 1"
    )
    append = create_function(op.get_bind(), "append_v1").statement
    again = append.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)
    op.execute(DDL(again))  # type: ignore[no-untyped-call]  # SQLAlchemy left it untyped
    for function in FUNCTIONS:
        op.execute(create_function(op.get_bind(), function))
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO jobledger_app")
    op.execute(f"GRANT SELECT ON replica, ledger_cluster TO {READERS}")


def downgrade() -> None:
    for function in reversed(FUNCTIONS):
        op.execute(f"DROP FUNCTION {function}")
    op.drop_table("ledger_cluster")
    op.drop_table("replica")
