"""Ledgers for tests: all ports of the log together, in memory or in a Postgres database."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import Engine

from jobledger.adapters.postgres.connection.engine import APP_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.log.history import PostgresHistory
from jobledger.adapters.postgres.log.leases import PostgresLeases
from jobledger.adapters.postgres.log.pending import PostgresPendingDecisions
from jobledger.adapters.postgres.log.projections import PostgresProjections
from jobledger.adapters.postgres.log.replicas import PostgresReplicas
from jobledger.adapters.postgres.log.snapshots import PostgresSnapshots
from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.history import History
from jobledger.core.ports.leases import Leases
from jobledger.core.ports.pending import PendingDecisions
from jobledger.core.ports.projections import Projections, Snapshots
from jobledger.core.ports.replicas import Replicas
from jobledger.core.values.ids import SHARDS
from jobledger.core.values.instants import Instant
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.support.memory.event_store import MemoryEventStore
from tests.support.memory.history import MemoryHistory
from tests.support.memory.leases import MemoryLeases
from tests.support.memory.pending import MemoryPendingDecisions
from tests.support.memory.replicas import MemoryReplicas
from tests.support.memory.snapshots import MemorySnapshots
from tests.support.postgres import fresh_database, plain_url
from tests.support.records import NOON, WRITER

APPEND_LOCK = "LOCK TABLE append_lock IN EXCLUSIVE MODE"
"""What every append waits for; in a transaction of a user who may."""

WAITING = """
    SELECT count(*) FROM pg_locks WHERE relation = 'append_lock'::regclass AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
"""How many wait for it."""

TERM = timedelta(minutes=5)
"""A lease that does not end during a test."""


ANOTHER_WRITER = "another writer"
"""Who has every shard after `Ledger.hand_over`."""


@dataclass
class TestClock:
    """A clock that a test sets."""

    __test__ = False
    now: Instant = NOON

    def __call__(self) -> Instant:
        """Return the time."""
        return self.now


@dataclass(kw_only=True)
class Ledger:
    """The ports of one log. All shards are held by `writer` under epoch 1."""

    store: EventStore
    leases: Leases
    replicas: Replicas
    pending: PendingDecisions
    history: History
    projections: Projections
    snapshots: Snapshots
    writer: str = field(default=WRITER)

    def take_all_shards(self) -> None:
        """Let `writer` hold every shard."""
        self.leases.acquire(self.writer, TERM, SHARDS)

    def hand_over(self) -> None:
        """Let another writer take every shard: the epoch of each grows by one."""
        self.leases.release(self.writer)
        self.leases.acquire(ANOTHER_WRITER, TERM, SHARDS)


def memory_ledger() -> Ledger:
    """Return an empty log in memory."""
    clock = TestClock()
    leases = MemoryLeases(clock)
    store = MemoryEventStore(leases)
    return Ledger(
        store=store,
        leases=leases,
        replicas=MemoryReplicas(leases, clock),
        pending=MemoryPendingDecisions(store),
        history=MemoryHistory(store),
        projections=store,
        snapshots=MemorySnapshots(store),
    )


def postgres_ledger(engine: Engine) -> Ledger:
    """Return the log of a database."""
    return Ledger(
        store=PostgresEventStore(engine, TestClock()),
        leases=PostgresLeases(engine),
        replicas=PostgresReplicas(engine),
        pending=PostgresPendingDecisions(engine),
        history=PostgresHistory(engine),
        projections=PostgresProjections(engine),
        snapshots=PostgresSnapshots(engine),
    )


@contextmanager
def app_engine(url: str, *, statement_timeout_seconds: int = 30) -> Iterator[Engine]:
    """Connect as the service does, with its role."""
    options = EngineOptions(role=APP_ROLE, statement_timeout_seconds=statement_timeout_seconds)
    engine = open_engine(url, options)
    try:
        yield engine
    finally:
        engine.dispose()


@pytest.fixture(scope="session")
def ledger_template(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """The name of a migrated, empty database to be copied."""
    with fresh_database(postgres_server) as url:
        upgrade(url)
        yield url.rsplit("/", 1)[1]


@pytest.fixture
def ledger_url(postgres_server: EmbeddedPostgres, ledger_template: str) -> Iterator[str]:
    """A database with an empty log, for one test; the URL is that of a superuser."""
    with fresh_database(postgres_server, ledger_template) as url:
        yield url


@pytest.fixture
def engine(ledger_url: str) -> Iterator[Engine]:
    """The service's connections to an empty log."""
    with app_engine(ledger_url) as made:
        yield made


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def empty_ledger(request: pytest.FixtureRequest) -> Ledger:
    """An empty log of each kind; nobody holds a shard."""
    if request.param == "memory":
        return memory_ledger()
    engine: Engine = request.getfixturevalue("engine")
    return postgres_ledger(engine)


@pytest.fixture
def ledger(empty_ledger: Ledger) -> Ledger:
    """An empty log of each kind, all of whose shards are held by `writer`."""
    empty_ledger.take_all_shards()
    return empty_ledger


@contextmanager
def tampering(url: str) -> Iterator[psycopg.Connection]:
    """Connect as a superuser for whom no trigger fires."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection
