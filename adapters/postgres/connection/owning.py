"""Checks whether the user owns the tables and can change rows without the functions."""

from collections.abc import Collection

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.core.errors import LedgerMisconfigured

_MAY_CHANGE = text(
    "SELECT bool_and(has_table_privilege(name, 'UPDATE') AND has_table_privilege(name, 'DELETE'))"
    " FROM unnest(CAST(:tables AS text[])) name"
)


def may_change(engine: Engine, tables: Collection[str]) -> bool:
    """Return whether the user of an engine may change and remove rows of all these tables."""
    try:
        with ledger_errors(engine.url), engine.connect() as connection:
            return bool(connection.execute(_MAY_CHANGE, {"tables": list(tables)}).scalar_one())
    except LedgerMisconfigured:  # without the service's role he does not even see them
        return False
