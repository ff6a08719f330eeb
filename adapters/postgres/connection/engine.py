"""Creates connections: URL, session settings, time limits, role."""

from dataclasses import dataclass
from typing import Any

import psycopg
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    ExceptionContext,
    ExecutionContext,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

from jobledger.adapters.postgres.connection import password_file, pooler
from jobledger.adapters.postgres.connection.answer_limit import (
    GRACE_SECONDS,
    AnswerLimit,
    limited_cursor,
)
from jobledger.adapters.postgres.connection.codec import register
from jobledger.adapters.postgres.connection.patient_pool import PatientPool
from jobledger.adapters.postgres.connection.refusals import refusals_of
from jobledger.core.errors import LedgerMisconfigured

APP_ROLE = "jobledger_app"
"""May read everything and call the functions; may not write any table."""

REPORT_ROLE = "jobledger_report"
"""May read everything."""

OLDEST_POSTGRES = 140000
"""PostgreSQL 14, as `server_version_num` says it."""

TRANSACTION_TIMEOUT_SINCE = 170000
"""PostgreSQL 17, the same way."""

_ENCODING = "UTF8"

_DRIVER = "postgresql+psycopg"

_READ_ONLY = "25006"
"""SQLSTATE of a write that a server refuses because it, or the session, only reads."""

IN_BINARY = {"in_binary": True}
"""Execution options of a statement whose rows are sent as Postgres keeps them, not as texts."""

_KEEPALIVES = {
    "keepalives_idle": 10,  # seconds of silence before the first probe
    "keepalives_interval": 5,  # seconds between probes
    "keepalives_count": 3,  # lost probes that end the connection
    "tcp_user_timeout": 15_000,  # milliseconds that sent data may stay unacknowledged
}


_SESSION = {
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "default_transaction_isolation": "read committed",
    "extra_float_digits": "1",  # all that a number has
    "standard_conforming_strings": "on",  # a backslash in a statement is one
    "row_security": "off",  # what a policy would hide is refused, not left out
    "lock_timeout": "0",  # the limit of a statement bounds its waits for locks as well
    "idle_in_transaction_session_timeout": "0",  # a snapshot stands while processes walk the log
    "idle_session_timeout": "0",  # a lock is held while archives are written
    "transaction_timeout": "0",
}
"""What is relied on in a session, whatever is set for the login or the database."""

_DURABLE = """
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'
"""
"""A commit is on disk before it is acted on; what waits for standbys stays as it is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How to connect."""

    role: str = ""
    """Role to take on after connecting; empty for the user's own."""
    pool_size: int = 4
    """Connections that are kept; as many again may be opened under load."""
    connect_timeout_seconds: int = 5
    statement_timeout_seconds: int = 30
    """Limit of one statement, waiting for locks included; 0 for none."""
    grace_seconds: float = GRACE_SECONDS
    """How long after that limit an answer is still waited for before the connection is cut."""
    application_name: str = "jobledger"
    settings: tuple[tuple[str, str], ...] = ()
    """Settings of Postgres for the session, and their values; behind a pooler those of the login
    remain."""


def parse_url(url: str) -> URL:
    """Return a DATABASE_URL as SQLAlchemy wants it.

    Raises `LedgerMisconfigured` if it is none or not one of Postgres; the message does not repeat
    it, because a password may stand anywhere in it.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise LedgerMisconfigured(
            "DATABASE_URL cannot be read; it must look like "
            "postgresql://user:password@host:5432/database"
        ) from error
    if parsed.drivername.partition("+")[0] not in {"postgresql", "postgres"}:
        raise LedgerMisconfigured(
            f"DATABASE_URL names {parsed.drivername.partition('+')[0]}; the ledger needs Postgres: "
            "postgresql://user:password@host:5432/database"
        )
    host, path = parsed.host or "", url.partition("?")[0].partition("://")[2].partition("/")[2]
    if "@" in host + path:  # what is taken for them is the rest of a password
        raise LedgerMisconfigured(
            "DATABASE_URL cannot be read: in user, password and database @ is written %40, / %2F, "
            ": %3A, ? %3F, # %23 and % %25"
        )
    return parsed.set(drivername=_DRIVER)


def open_engine(url: str, options: EngineOptions | None = None) -> Engine:
    """Return an engine; nothing connects yet. The caller disposes of it.

    Every statement is a transaction of its own (autocommit): the append call must be, and the
    others need no more.

    Raises:
        LedgerMisconfigured: as `parse_url` and `password_file.split`; and, when it connects, where
            the password's file cannot be read.
    """
    chosen = options or EngineOptions()
    address, password = password_file.split(parse_url(url))
    engine = create_engine(
        address,
        isolation_level="AUTOCOMMIT",
        poolclass=PatientPool,
        pool_size=chosen.pool_size,
        max_overflow=chosen.pool_size,
        pool_timeout=chosen.statement_timeout_seconds or 30,
        hide_parameters=True,
        use_native_hstore=False,  # it would ask for a type that no ledger has
        connect_args={
            "connect_timeout": chosen.connect_timeout_seconds,
            "application_name": chosen.application_name,
            "client_encoding": _ENCODING,  # of SQL_ASCII the driver would read texts as bytes
            **_KEEPALIVES,
            **_limits(chosen),
        },
    )

    def prepare(connection: psycopg.Connection[Any], _entry: ConnectionPoolEntry) -> None:
        _prepare_session(connection, chosen)

    if password is not None:
        password_file.read_anew(engine, password)
    event.listen(engine, "do_connect", refusals_of(address.set(password=None)).connect)
    event.listen(engine, "connect", prepare)
    event.listen(engine, "handle_error", _leave_read_only_server)
    event.listen(engine, "before_cursor_execute", _send_as_asked)
    return engine


def _send_as_asked(
    _connection: Connection,
    cursor: psycopg.Cursor[Any],
    _statement: str,
    _parameters: object,
    context: ExecutionContext | None,
    _many: bool,  # noqa: FBT001
) -> None:
    if context is not None and context.execution_options.get("in_binary"):
        cursor.format = psycopg.pq.Format.BINARY


def _limits(options: EngineOptions) -> dict[str, Any]:
    """Return what keeps a connection from waiting for ever for a server that is gone."""
    if not options.statement_timeout_seconds:
        return {}
    limit = AnswerLimit(options.statement_timeout_seconds + options.grace_seconds)
    return {"cursor_factory": limited_cursor(limit)}


def _leave_read_only_server(context: ExceptionContext) -> None:
    """Let go of every connection once a server refuses to write: the next may reach another.

    A session that began read-only stays so, and behind one address a failover may have put
    another primary.
    """
    if is_read_only(context.original_exception):
        context.is_disconnect = True


def is_read_only(error: BaseException) -> bool:
    """Return whether a server refused to write; no connection to it is worth keeping."""
    return getattr(error, "sqlstate", None) == _READ_ONLY


def require_supported(server_version: int) -> None:
    """Raise `LedgerMisconfigured` for a server that is too old, by its `server_version_num`."""
    if server_version < OLDEST_POSTGRES:
        raise LedgerMisconfigured(
            f"this is Postgres {server_version // 10000}; the ledger needs "
            f"{OLDEST_POSTGRES // 10000} or newer"
        )


def require_unicode(encoding: str) -> None:
    """Raise `LedgerMisconfigured` for a database that cannot keep every text."""
    if encoding != _ENCODING:
        raise LedgerMisconfigured(
            f"the encoding of this database is {encoding}, and the ledger needs {_ENCODING}: "
            f"CREATE DATABASE jobledger ENCODING '{_ENCODING}' TEMPLATE template0"
        )


def _prepare_session(connection: psycopg.Connection[Any], options: EngineOptions) -> None:
    try:
        require_supported(connection.info.server_version)
        require_unicode(connection.info.parameter_status("server_encoding") or _ENCODING)
        register(connection)
        connection.autocommit = True
        if not pooler.look(connection, options.role):
            return
        limit = f"{options.statement_timeout_seconds}s"
        settings = {**_SESSION, "statement_timeout": limit, **dict(options.settings)}
        if connection.info.server_version < TRANSACTION_TIMEOUT_SINCE:
            del settings["transaction_timeout"]
        for name, value in settings.items():
            connection.execute(
                psycopg.sql.SQL("SET {} = {}").format(
                    psycopg.sql.Identifier(name), psycopg.sql.Literal(value)
                )
            )
        connection.execute(_DURABLE)
        if options.role:
            connection.execute(
                psycopg.sql.SQL("SET ROLE {}").format(psycopg.sql.Identifier(options.role))
            )
    except BaseException:
        # A listener that raises leaves the connection to the garbage collector otherwise.
        connection.close()
        raise
