"""Let notifications that a later clock has dated not wait until it is as late again.

The function is put in place of the one of its name, so programs from before work with it too.
"""

from alembic import op

from jobledger.adapters.postgres.schema.functions import create_function

revision = "0118"
down_revision = "0117"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(create_function(op.get_bind(), "take_notifications_v1", or_replace=True))


def downgrade() -> None:
    """Leave the function: with that of the revision before, notifications may wait for hours."""
