"""Builds columns, each with its comment, for the metadata of tables and for migrations."""

from typing import Any, TypeAlias

from sqlalchemy import Boolean, Column, text
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.types import TypeEngine

INSTANT = TIMESTAMP(timezone=True)
"""The type of every instant: with its time zone, in microseconds."""

Kind: TypeAlias = "TypeEngine[Any] | type[TypeEngine[Any]]"


def column(name: str, kind: Kind, comment: str, *, nullable: bool = False) -> Column[Any]:
    """Return a column that Postgres explains by `comment`."""
    return Column(name, kind, nullable=nullable, comment=comment)


def single() -> Column[Any]:
    """Return the key of a table of one row."""
    said = "Always true: there is one row"
    return Column("single", Boolean, nullable=False, server_default=text("true"), comment=said)
