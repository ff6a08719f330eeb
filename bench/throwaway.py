"""A Postgres for one run: private, durable, in a directory that goes when the run ends."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Engine

from bench.figures import Report
from bench.machine import cpu_seconds
from jobledger.adapters.postgres.connection.engine import APP_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.log.leases import PostgresLeases
from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.core.values.ids import SHARDS
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.postgres.user import temporary_directory

LEASE = timedelta(hours=6)
ACTOR = "bench/1"


@contextmanager
def open_directory() -> Iterator[Path]:
    """Give a directory that the server's user can enter; remove it afterwards."""
    path = temporary_directory("jobledger-bench-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def postgres(report: Report) -> Iterator["Server"]:
    """Run a durable server; its settings go into the report."""
    report.say("starting Postgres")
    with open_directory() as directory, EmbeddedPostgres(directory / "data") as running:
        server = Server(running)
        report.setting("Postgres", f"{running.version}, {server.durability()}")
        yield server


class Server:
    """The server of a run: its databases and what they cost."""

    def __init__(self, running: EmbeddedPostgres) -> None:
        self._running = running
        self.pid = running.server_pid

    def durability(self) -> str:
        """Return the settings that decide how much a commit costs."""
        names = ("fsync", "synchronous_commit", "full_page_writes", "shared_buffers")
        with self.admin() as connection:
            said = {
                name: connection.execute(sql.SQL("SHOW {}").format(sql.Identifier(name))).fetchone()
                for name in names
            }
        return ", ".join(f"{name}={row[0]}" for name, row in said.items() if row is not None)

    def database(self, name: str) -> str:
        """Return the URL of a new ledger of that name."""
        with self.admin() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        url = self.url(name)
        upgrade(url)
        return url

    def copy_of(self, template: str, name: str) -> None:
        """Make a database that is a copy of one to which nobody is connected."""
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        with self.admin() as connection:
            connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))

    def url(self, name: str) -> str:
        """Return the URL of a database."""
        return f"{self._running.url.rsplit('/', 1)[0]}/{name}"

    def admin(self, name: str = "") -> psycopg.Connection[Any]:
        """Return a connection of the superuser, each statement its own transaction."""
        url = self.url(name) if name else self._running.url
        return psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True)

    def checkpoint(self) -> None:
        """Write everything out, so that the next measurement does not pay for the last."""
        with self.admin() as connection:
            connection.execute("CHECKPOINT")

    def wal_bytes(self) -> int:
        """Return how much WAL has been written so far."""
        with self.admin() as connection:
            row = connection.execute(
                "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
            ).fetchone()
        assert row is not None, "a query of one row"
        return int(row[0])

    def backends(self, name: str) -> Sequence[int]:
        """Return the process ids of a database's connections."""
        with self.admin() as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = %s", (name,)
            ).fetchall()
        return [row[0] for row in rows]

    @contextmanager
    def meter(self, name: str) -> Iterator["Meter"]:
        """Measure what is spent on a database meanwhile, by connections that stay open."""
        meter = Meter(self, name)
        meter.start()
        yield meter
        meter.stop()

    def backend_cpu_seconds(self, name: str) -> float:
        """Return the CPU time of a database's connections that are open now."""
        return cpu_seconds(self.backends(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one item cost."""

    cpu: float
    """Microseconds of the backends' CPU."""
    wall: float
    """Microseconds."""
    wal: float
    """Bytes."""


class Meter:
    """What is spent on a database between `start` and `stop`."""

    def __init__(self, server: Server, database: str) -> None:
        self._server = server
        self._database = database
        self._began = (0.0, 0.0, 0)
        self._spent = (0.0, 0.0, 0)

    def start(self) -> None:
        """Begin to measure."""
        self._began = self._now()

    def stop(self) -> None:
        """Measure no more."""
        cpu, wall, wal = self._now()
        self._spent = (cpu - self._began[0], wall - self._began[1], wal - self._began[2])

    def cost(self, items: int) -> Cost:
        """Return what one of so many items cost."""
        cpu, wall, wal = self._spent
        return Cost(cpu=cpu / items * 1e6, wall=wall / items * 1e6, wal=wal / items)

    def _now(self) -> tuple[float, float, int]:
        cpu, wal = self._server.backend_cpu_seconds(self._database), self._server.wal_bytes()
        return cpu, time.monotonic(), wal


@contextmanager
def ledger_engine(url: str, connections: int = 4) -> Iterator[Engine]:
    """Give an engine as the service has one, with all shards leased to `ACTOR`."""
    engine = open_engine(url, EngineOptions(role=APP_ROLE, pool_size=connections))
    try:
        PostgresLeases(engine).acquire(ACTOR, LEASE, SHARDS)
        yield engine
    finally:
        engine.dispose()
