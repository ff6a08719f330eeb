"""Let leases and heartbeats that a later clock has dated not outlive their owners.

Functions are put in place of those of the same names, so programs from before work with them too.
"""

from alembic import op

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0116"
down_revision = "0115"
branch_labels = None
depends_on = None

FUNCTIONS = ("acquire_shards_v1", "beat_v1")


def upgrade() -> None:
    for name in FUNCTIONS:
        op.execute(create_function(op.get_bind(), name, or_replace=True))


def downgrade() -> None:
    """Leave the functions: with those of the revision before a dead replica may hold its shards."""
