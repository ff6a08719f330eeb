"""A Postgres for the tests: one server per test process, one database per test.

Each xdist worker has a server of its own: it costs half a second, and no worker has to outlive
another. `tests/conftest.py` imports the fixtures.
"""

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.postgres.user import temporary_directory

_NUMBERS = itertools.count(1)

MEMORY = Path("/dev/shm")
ROOM_BYTES = 2 * 2**30
"""So much has to be free there: several servers, each with its log and some databases."""


@contextmanager
def open_directory() -> Iterator[Path]:
    """Give a temporary directory that the server's user can enter (pytest's `tmp_path` is 0700).

    In memory where there is room: each new database is three hundred files, for which a disk takes
    ten times as long.
    """
    path = _in_memory() or temporary_directory("jobledger-postgres-")
    try:
        yield path
    finally:
        shutil.rmtree(path)


def _in_memory() -> Path | None:
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ROOM_BYTES:
        return None
    path = Path(tempfile.mkdtemp(prefix="jobledger-postgres-", dir=MEMORY))
    path.chmod(0o755)
    return path


@contextmanager
def running_server() -> Iterator[EmbeddedPostgres]:
    """Run a server with test settings (no fsync) and remove everything afterwards."""
    with (
        open_directory() as directory,
        EmbeddedPostgres(directory / "data", durable=False) as server,
    ):
        yield server


@contextmanager
def fresh_database(server: EmbeddedPostgres, template: str | None = None) -> Iterator[str]:
    """Give the URL of a new database, empty or a copy of `template`, and drop it afterwards.

    Nobody may be connected to the template meanwhile.
    """
    name = f"test_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(plain_url(server.url), autocommit=True) as admin:
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        source = sql.Identifier(template or "template0")
        admin.execute(create.format(sql.Identifier(name), source))
    try:
        yield f"{server.url.rsplit('/', 1)[0]}/{name}"
    finally:
        with psycopg.connect(plain_url(server.url), autocommit=True) as admin:
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)")
            admin.execute(drop.format(sql.Identifier(name)))


def plain_url(url: str) -> str:
    """Return SQLAlchemy's URL as libpq reads it."""
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[EmbeddedPostgres]:
    """A server for all tests of this process."""
    with running_server() as server:
        yield server


@pytest.fixture
def database_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """An empty database for one test."""
    with fresh_database(postgres_server) as url:
        yield url
