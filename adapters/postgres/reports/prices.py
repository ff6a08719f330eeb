"""The list of prices: what an hour of a core, a GiB or an accelerator costs, and from when on."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Engine, delete, insert, select

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.schema.tables import metadata
from jobledger.core.values.instants import Instant

_TABLE = metadata.tables["resource_price"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """One line of the list."""

    resource: str
    """cpu (a core), memory (a GiB) or accelerator."""
    accelerator: str
    """Which accelerator, as in the view `resources`; empty: any that has no price of its own."""
    valid_from: Instant
    """The first instant at which an attempt that starts has this price."""
    price_per_hour: float
    """In money of any kind, the same in the whole list."""


def prices(owner: Engine) -> Sequence[Price]:
    """Return the list, in order; `LedgerError` as reading raises it."""
    order = (_TABLE.c.resource, _TABLE.c.accelerator, _TABLE.c.valid_from)
    with ledger_errors(owner.url), owner.connect() as connection:
        rows = connection.execute(select(_TABLE).order_by(*order)).mappings()
        return [Price(**row) for row in rows]


def put_prices(owner: Engine, listed: Sequence[Price]) -> None:
    """Put a list in place of the one that is there, all of it or nothing.

    Raises `LedgerMisconfigured` if the user is not the owner of the tables.
    """
    with ledger_errors(owner.url), owner.connect() as connection, connection.begin():
        connection.execute(delete(_TABLE))
        if listed:
            connection.execute(insert(_TABLE), [asdict(one) for one in listed])
