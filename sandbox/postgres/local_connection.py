"""Waits until the private server answers, and creates the database."""

import psycopg
from psycopg import sql

from jobledger.core.errors import LedgerUnavailable

LOOPBACK = "127.0.0.1"

CONNECT_SECONDS = 5
"""Limit for one attempt to log in over loopback; it takes some 5 ms."""


def try_login(port: int, password: str) -> str | None:
    """Log in as the role `postgres`; return None, or why it did not work.

    Both sides prove that they know the password: a stranger on the port is not taken for ours.
    """
    try:
        _login(port, password).close()
    except psycopg.OperationalError as error:
        return " ".join(str(error).split())
    return None


def ensure_database(port: int, password: str, name: str) -> None:
    """Create the database unless it is there.

    Raises:
        LedgerUnavailable: the server does not answer or refuses.
    """
    try:
        with _login(port, password) as connection:
            there = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
            if there.fetchone() is None:
                create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
                connection.execute(create)
    except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
        return  # another process was faster
    except psycopg.Error as error:
        raise LedgerUnavailable(
            f"the private Postgres on port {port} did not create the database {name}: {error}"
        ) from error


def _login(port: int, password: str) -> psycopg.Connection:
    """Return a connection to the database `postgres`, each statement in its own transaction."""
    return psycopg.connect(
        host=LOOPBACK,
        port=port,
        user="postgres",
        password=password,
        dbname="postgres",
        connect_timeout=CONNECT_SECONDS,
        require_auth="scram-sha-256",
        sslmode="disable",
        gssencmode="disable",
        autocommit=True,
    )
