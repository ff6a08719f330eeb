"""A real pgBouncer (Debian's `pgbouncer`) in transaction mode, mostly, before a server of tests.

Its few connections to the server take turns (`server_round_robin`): what a session would rely on
is gone with the next statement.
"""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import URL, make_url

from jobledger.sandbox.postgres.user import as_server_user, temporary_directory
from tests.support.postgres import plain_url
from tests.support.waiting import wait_until

CONFIGURATION = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = plain
auth_file = {users}
pool_mode = {mode}
default_pool_size = 3
server_round_robin = 1
query_wait_timeout = 30
"""

PASSWORD = "pooled"


def program() -> str:
    """Return pgBouncer; skip the test without one, and fail in CI."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("there is no pgbouncer: apt-get install pgbouncer")
        pytest.skip("there is no pgbouncer: apt-get install pgbouncer")
    return found


@contextmanager
def pooled(url: str, mode: str = "transaction") -> Iterator[URL]:
    """Give the address of a database through pgBouncer, for a login with the service's role.

    The login is `pooled_` and the name of the database; nothing else is set for it.
    """
    server = make_url(url)
    login = f"pooled_{server.database}"
    with psycopg.connect(plain_url(url), autocommit=True) as admin:
        make = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE jobledger_app")
        admin.execute(make.format(sql.Identifier(login), sql.Literal(PASSWORD)))
        try:
            with _running(server, login, mode) as port:
                yield server.set(username=login, password=PASSWORD, host="127.0.0.1", port=port)
        finally:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = %s",
                (login,),
            )
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(login)))


def bring_role(url: str, address: URL) -> None:
    """Have the login bring the service's role, as the refusal without it asks for."""
    with psycopg.connect(plain_url(url), autocommit=True) as admin:
        change = sql.SQL("ALTER ROLE {} SET role = jobledger_app")
        admin.execute(change.format(sql.Identifier(address.username or "")))


@contextmanager
def _running(server: URL, login: str, mode: str) -> Iterator[int]:
    directory = temporary_directory("jobledger-pgbouncer-")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    users, log = directory / "users.txt", directory / "log"
    users.write_text(f'"{login}" "{PASSWORD}"\n')
    configuration = directory / "pgbouncer.ini"
    configuration.write_text(
        CONFIGURATION.format(
            host=server.host, port=server.port, listen=port, users=users, mode=mode
        )
    )
    with log.open("wb") as output:
        running = subprocess.Popen(
            as_server_user(program(), str(configuration)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        wait_until(lambda: _answers(port) or running.poll() is not None, "pgbouncer has started")
        assert running.poll() is None, log.read_text()
        yield port
    finally:
        running.terminate()
        running.wait()
        shutil.rmtree(directory)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
