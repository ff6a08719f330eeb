"""The role that runs reports, with read rights only."""

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.engine import APP_ROLE, REPORT_ROLE
from jobledger.adapters.postgres.connection.errors import ledger_errors


def reading_role(engine: Engine) -> str:
    """Return the weakest role that the user may take on and that may read the views.

    Empty: none of ours; the user's own rights have to do.
    """
    may = text("SELECT pg_has_role(current_user, :role, 'MEMBER')")
    with ledger_errors(engine.url), engine.connect() as connection:
        for role in (REPORT_ROLE, APP_ROLE):
            if connection.execute(may, {"role": role}).scalar_one():
                return role
    return ""
