"""Finds rows with an instant that none can be: `infinity`, or beyond the calendar.

Nothing writes one. The driver refuses to read such a row, so nothing can compare it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Engine, Table, text
from sqlalchemy.dialects.postgresql import TIMESTAMP

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.schema.tables import metadata
from jobledger.core.projections.differences import Difference

EXPECTED = "an instant between the years 1 and 9999"

_NONE = "t.{column} NOT BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoInstant:
    """A column of a row that holds no instant."""

    stream: UUID | None
    """None: the table is not one of streams."""
    difference: Difference


def no_instants(engine: Engine, keys: Mapping[str, str]) -> Iterator[NoInstant]:
    """Yield every column with such a value of these tables.

    `keys` has their names, and the primary key of each as people read it, in SQL.
    """
    for name, key in keys.items():
        stream = "t.stream_id" if "stream_id" in metadata.tables[name].columns else "NULL"
        for column in _instants(metadata.tables[name]):
            query = text(
                f"SELECT {stream}, {key}, t.{column}::text FROM {name} t"  # noqa: S608  # words of ours
                f" WHERE {_NONE.format(column=column)} ORDER BY 1, 2"
            )
            with ledger_errors(engine.url), engine.connect() as connection:
                rows = connection.execute(query).all()
            for its_stream, its_key, found in rows:
                yield NoInstant(
                    stream=its_stream,
                    difference=Difference(
                        table=name, key=its_key, column=column, found=found, expected=EXPECTED
                    ),
                )


def keys_of(tables: Iterable[str]) -> Mapping[str, str]:
    """Return the primary keys of tables in SQL, their columns one after the other."""
    return {
        name: " || ' ' || ".join(
            f"t.{column.name}::text" for column in metadata.tables[name].primary_key.columns
        )
        for name in tables
    }


def _instants(table: Table) -> Iterator[str]:
    return (column.name for column in table.columns if isinstance(column.type, TIMESTAMP))
