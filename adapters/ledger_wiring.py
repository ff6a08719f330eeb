"""The composition root of the ledger: Postgres, and everything that reads and writes it.

Apart from the rest, so that a command that only reads the ledger loads nothing else.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine

from adapters.postgres.embedded import EmbeddedPostgres
from adapters.postgres.engine import APP_ROLE, EngineOptions, open_engine
from adapters.postgres.event_store import PostgresEventStore
from adapters.postgres.evidence import PostgresEvidence
from adapters.postgres.history import PostgresHistory
from adapters.postgres.imports import Imports
from adapters.postgres.leases import PostgresLeases
from adapters.postgres.partitions import Partitions
from adapters.postgres.pending import PostgresPendingDecisions
from adapters.postgres.projections import PostgresProjections
from adapters.postgres.schema_version import require_current, upgrade
from adapters.postgres.seals import PostgresSeals
from adapters.settings import Settings
from adapters.telemetry.clock import SystemClock


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """An opened ledger: Postgres and everything that reads and writes it."""

    url: str
    engine: Engine
    store: PostgresEventStore
    history: PostgresHistory
    pending: PostgresPendingDecisions
    leases: PostgresLeases
    projections: PostgresProjections
    partitions: Partitions
    seals: PostgresSeals
    evidence: PostgresEvidence
    imports: Imports


@contextmanager
def database(settings: Settings) -> Iterator[str]:
    """Yield the URL of the Postgres to use.

    A private one is started, and stopped by whoever started it.

    Raises:
        LedgerMisconfigured, LedgerUnavailable: as the private server does.
    """
    given = settings.database_url.get_secret_value()
    if given:
        yield given
        return
    with EmbeddedPostgres(settings.data_dir / "postgres") as server:
        yield server.url


@contextmanager
def ledger(settings: Settings, *, role: str = APP_ROLE) -> Iterator[Ledger]:
    """Yield the opened ledger; a private one is brought to the newest schema first.

    Raises:
        LedgerMisconfigured: the schema is not the one this program needs, or a permission is
        missing.
    """
    with database(settings) as url:
        if not settings.database_url.get_secret_value():
            upgrade(url)
        require_current(url)
        engine = open_engine(url, EngineOptions(role=role, pool_size=settings.workers))
        try:
            yield open_ledger(url, engine)
        finally:
            engine.dispose()


def open_ledger(url: str, engine: Engine) -> Ledger:
    """Return everything that works on an engine."""
    return Ledger(
        url=url,
        engine=engine,
        store=PostgresEventStore(engine, SystemClock().now),
        history=PostgresHistory(engine),
        pending=PostgresPendingDecisions(engine),
        leases=PostgresLeases(engine),
        projections=PostgresProjections(engine),
        partitions=Partitions(engine),
        seals=PostgresSeals(engine),
        evidence=PostgresEvidence(engine),
        imports=Imports(engine),
    )
