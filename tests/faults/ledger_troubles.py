"""What can happen to a Postgres that is a ledger, and how somebody puts it right."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import psycopg
from psycopg import sql
from sqlalchemy import URL, make_url

from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.faults.lines import Lines
from tests.support.ledgers import APPEND_LOCK
from tests.support.postgres import plain_url

CLERK, PASSWORD = "clerk", "a password of the tests"


@dataclass(frozen=True, slots=True)
class Ledger:
    """A database on a server of its own, and the line that leads there."""

    server: EmbeddedPostgres
    url: str
    """As an administrator."""
    lines: Lines

    @property
    def database(self) -> sql.Identifier:
        """Its name."""
        return sql.Identifier(make_url(self.url).database or "")

    def run(self, *statements: sql.Composed | sql.SQL) -> None:
        """Run statements as an administrator, each in a transaction of its own."""
        with psycopg.connect(plain_url(self.url), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)


Trouble: TypeAlias = Callable[[Ledger], AbstractContextManager[None]]
"""Makes trouble on entry and puts everything right on exit."""

_HANG_UP = sql.SQL("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = {}")


def as_clerk(url: str) -> URL:
    """Return the address for the user that the service is: no administrator."""
    return make_url(url).set(username=CLERK, password=PASSWORD)


def hire_clerk(url: str) -> None:
    """Make that user, as the manual says."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        role = sql.Identifier(CLERK)
        make = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, sql.Literal(PASSWORD))
        connection.execute(make)
        connection.execute(sql.SQL("GRANT jobledger_app TO {}").format(role))


@contextmanager
def killed(ledger: Ledger) -> Iterator[None]:
    """The server dies; nothing is flushed."""
    os.kill(ledger.server.server_pid, signal.SIGKILL)
    yield
    ledger.server.ensure_running()


@contextmanager
def stopped(ledger: Ledger) -> Iterator[None]:
    """An administrator stops the server, in the fast way."""
    os.kill(ledger.server.server_pid, signal.SIGINT)
    yield
    ledger.server.ensure_running()


@contextmanager
def read_only(ledger: Ledger) -> Iterator[None]:
    """Writes are refused, as after a failover that left us with the old primary."""
    change = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on")
    ledger.run(change.format(ledger.database), _HANG_UP.format(CLERK))
    yield
    change = sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only")
    with psycopg.connect(plain_url(ledger.url), autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(change.format(ledger.database))


@contextmanager
def crowded(ledger: Ledger) -> Iterator[None]:
    """Others have taken every connection."""
    limit = sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}")
    role = sql.Identifier(CLERK)
    ledger.run(limit.format(role, sql.Literal(0)), _HANG_UP.format(CLERK))
    yield
    ledger.run(limit.format(role, sql.Literal(-1)))


@contextmanager
def locked_out(ledger: Ledger) -> Iterator[None]:
    """Somebody changes the password, and back."""
    change = sql.SQL("ALTER ROLE {} PASSWORD {}")
    role = sql.Identifier(CLERK)
    ledger.run(change.format(role, sql.Literal("another")), _HANG_UP.format(CLERK))
    yield
    ledger.run(change.format(role, sql.Literal(PASSWORD)))


@contextmanager
def unplugged(ledger: Ledger) -> Iterator[None]:
    """The network refuses connections and has cut those that were there."""
    ledger.lines.ledger.refuse()
    yield
    ledger.lines.ledger.restore()


@contextmanager
def silent(ledger: Ledger) -> Iterator[None]:
    """The network carries nothing and says nothing."""
    ledger.lines.ledger.hold()
    yield
    ledger.lines.ledger.restore()


@contextmanager
def half_open(ledger: Ledger) -> Iterator[None]:
    """The network has lost the server of every connection, for good, and tells nobody."""
    ledger.lines.ledger.half_open()
    yield
    ledger.lines.ledger.restore()


@contextmanager
def append_lock_taken(ledger: Ledger) -> Iterator[None]:
    """Another session holds the lock on which appends and changes of leases wait."""
    with psycopg.connect(plain_url(ledger.url)) as connection:
        connection.execute(APPEND_LOCK)
        yield


@contextmanager
def small_disk(directory: Path, megabytes: int, user: int) -> Iterator[Path]:
    """Mount a file system of a few megabytes; raises `OSError` where that is not allowed."""
    directory.mkdir()
    size = f"size={megabytes}m,uid={user},mode=0700"
    mount = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(directory)]
    tried = subprocess.run(mount, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise OSError(tried.stderr.strip())
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Leave no room on a file system."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        free = shutil.disk_usage(disk).free
        file.write(b"\0" * free)
    yield
    ballast.unlink()
