"""Add what attempts held, the labels of jobs and a list of prices: to the facts and to the views.

The reporting tables are computed anew from the log, by the service, in its own time.
"""

from alembic import op

from jobledger.adapters.postgres.report_v1.of_jobs import JOBS
from jobledger.adapters.postgres.report_v1.of_resources import RESOURCES
from jobledger.adapters.postgres.report_v1.views import (
    literal,
    quoted,
    schema_of_views,
    view_creation,
)
from jobledger.adapters.postgres.schema.functions import current_schema
from jobledger.adapters.postgres.schema.tables import metadata

revision = "0109"
down_revision = "0108"
branch_labels = None
depends_on = None

READERS = "jobledger_app, jobledger_report"
ADDED = (("report_job", "labels", "text"), ("report_attempt", "resources", "jsonb"))
PRICES = """
    CREATE TABLE resource_price (
        resource text NOT NULL, accelerator text NOT NULL, valid_from timestamptz NOT NULL,
        price_per_hour double precision NOT NULL,
        CONSTRAINT resource_price_pkey PRIMARY KEY (resource, accelerator, valid_from)
    )
"""


def upgrade() -> None:
    for table, column, kind in ADDED:
        op.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
        explain(table, column)
    op.execute(PRICES)
    op.execute("GRANT SELECT ON resource_price TO jobledger_app")
    prices = metadata.tables["resource_price"]
    op.execute(f"COMMENT ON TABLE resource_price IS {literal(prices.comment or '')}")
    for priced in prices.columns:
        explain("resource_price", priced.name)
    for view in (JOBS, RESOURCES):
        for statement in view_creation(view, current_schema(op.get_bind()), READERS, revision):
            op.execute(statement)
    op.execute("UPDATE report_checkpoint SET position = 0, recorded_at = NULL WHERE single")


def downgrade() -> None:
    views = quoted(schema_of_views(current_schema(op.get_bind())))
    for view in (RESOURCES, JOBS):
        op.execute(f"DROP VIEW {views}.{view.name}")
    op.execute("DROP TABLE resource_price")
    for table, column, _ in ADDED:
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    for statement in view_creation(JOBS, current_schema(op.get_bind()), READERS, down_revision):
        op.execute(statement)


def explain(table: str, column: str) -> None:
    meaning = metadata.tables[table].c[column].comment or ""
    op.execute(f"COMMENT ON COLUMN {table}.{column} IS {literal(meaning)}")
