"""Calls `append_v1` as a statement that each connection prepares once, through libpq itself.

Through a pooler it is parsed anew each time, in one message with its parameters.

It is called for each turn. Through SQLAlchemy and a cursor of the driver's a call costs the service
several times as much CPU (`docs/decisions/0077`); connections, their settings and their limits
are those of the engine.
"""

import struct
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from sqlalchemy import Engine
from sqlalchemy.pool import PoolProxiedConnection

from jobledger.adapters.postgres.connection.answer_limit import limited
from jobledger.adapters.postgres.connection.codec import Argument
from jobledger.adapters.postgres.connection.engine import is_read_only
from jobledger.adapters.postgres.connection.pooler import has_own_session

STATEMENT = "append_v1"
"""What a connection calls the statement."""

_PREPARED = "append_v1 is prepared"
"""Where a connection of the pool keeps that it has prepared the statement."""


def append(engine: Engine, arguments: Sequence[Argument]) -> Sequence[tuple[str, int, bytes]]:
    """Return the rows of `append_v1`: outcome, version and chain of each part.

    Raises:
        psycopg.Error: as a cursor of the driver's would.
    """
    pooled = engine.raw_connection()
    try:
        connection = pooled.driver_connection
        assert isinstance(connection, psycopg.Connection), "the engine's driver"
        with limited(connection):
            return _rows(_called(pooled, connection.pgconn, arguments))
    except psycopg.Error as error:
        _let_go(engine, pooled, error)
        raise
    finally:
        pooled.close()


def _called(
    pooled: PoolProxiedConnection, connection: PGconn, arguments: Sequence[Argument]
) -> PGresult:
    values: list[Any] = [argument.packed for argument in arguments]  # a null is None
    formats = [argument.format for argument in arguments]
    if not has_own_session(pooled.driver_connection):  # type: ignore[arg-type] # the driver's
        query, types = _query(arguments)
        result = connection.exec_params(query, values, types, formats, Format.BINARY)
        _require(connection, result, ExecStatus.TUPLES_OK)
        return result
    if _PREPARED not in pooled.info:
        query, types = _query(arguments)
        prepared = connection.prepare(STATEMENT.encode(), query, types)
        _require(connection, prepared, ExecStatus.COMMAND_OK)
        pooled.info[_PREPARED] = True
    result = connection.exec_prepared(STATEMENT.encode(), values, formats, Format.BINARY)
    _require(connection, result, ExecStatus.TUPLES_OK)
    return result


def _query(arguments: Sequence[Argument]) -> tuple[bytes, Sequence[int]]:
    """Return the statement and the types of its parameters."""
    places = ", ".join(f"${number}" for number in range(1, len(arguments) + 1))
    query = f"SELECT * FROM append_v1({places})"  # noqa: S608 places only
    return query.encode(), [argument.oid for argument in arguments]


def _require(connection: PGconn, result: PGresult, status: ExecStatus) -> None:
    """Raise what a result stands for, if it is not the one that is asked for."""
    if result.status == status:
        return
    if connection.status == ConnStatus.BAD:
        raise psycopg.OperationalError(connection.get_error_message())
    raise error_from_result(result)


def _rows(result: PGresult) -> Sequence[tuple[str, int, bytes]]:
    return [
        (_value(result, row, 0).decode(), _number(result, row, 1), _value(result, row, 2))
        for row in range(result.ntuples)
    ]


def _value(result: PGresult, row: int, column: int) -> bytes:
    value = result.get_value(row, column)
    assert value is not None, "append_v1 leaves nothing out"
    return value


def _number(result: PGresult, row: int, column: int) -> int:
    (number,) = struct.unpack(">i", _value(result, row, column))
    return int(number)


def _let_go(engine: Engine, pooled: PoolProxiedConnection, error: psycopg.Error) -> None:
    """Let go of all connections where the engine itself would after a statement of its own."""
    connection: Any = pooled.driver_connection
    if connection.closed or is_read_only(error):
        engine.pool._invalidate(pooled, error)  # noqa: SLF001 there is no public door to it
