"""Composition root of the ledger: Postgres, and everything that reads and writes it.

Apart from the rest, so that a command that only reads the ledger loads nothing else.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module

from sqlalchemy import Engine

from jobledger.adapters.postgres.archive.archives import PostgresArchives
from jobledger.adapters.postgres.archive.imports import Imports
from jobledger.adapters.postgres.connection.engine import APP_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.connection.errors import describe, ledger_errors
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.log.evidence import PostgresEvidence
from jobledger.adapters.postgres.log.history import PostgresHistory
from jobledger.adapters.postgres.log.leases import PostgresLeases
from jobledger.adapters.postgres.log.notifications import PostgresNotifications
from jobledger.adapters.postgres.log.partitions import Partitions
from jobledger.adapters.postgres.log.pending import PostgresPendingDecisions
from jobledger.adapters.postgres.log.projections import PostgresProjections
from jobledger.adapters.postgres.log.replicas import PostgresReplicas
from jobledger.adapters.postgres.log.snapshots import PostgresSnapshots
from jobledger.adapters.postgres.reports.asking.access import reading_role
from jobledger.adapters.postgres.reports.projecting.projector import ReportService
from jobledger.adapters.postgres.schema.version import require_current, upgrade
from jobledger.adapters.postgres.verifying.condition import rights_lacking
from jobledger.adapters.postgres.verifying.seals import PostgresSeals
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import LedgerMisconfigured
from jobledger.core.forensics.story.causes import ExplainedCauses
from jobledger.core.projections.reporting.fold import Rules

REPORT_SETTINGS = (("random_page_cost", "1.1"), ("work_mem", "64MB"))
"""What facts of a week are found by: an index, though the table is large, as its pages are in
memory or on a disk that does not turn; and memory to sort a year of them in, for one report at a
time. By Postgres' defaults a week of half a million jobs is a walk over all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """An opened ledger: Postgres and everything that reads and writes it."""

    url: str
    engine: Engine
    store: PostgresEventStore
    history: PostgresHistory
    pending: PostgresPendingDecisions
    leases: PostgresLeases
    replicas: PostgresReplicas
    projections: PostgresProjections
    snapshots: PostgresSnapshots
    partitions: Partitions
    seals: PostgresSeals
    evidence: PostgresEvidence
    imports: Imports
    archives: PostgresArchives
    notifications: PostgresNotifications


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
    # By name: what controls a cluster has a database, and never loads the sandbox.
    private = import_module("jobledger.sandbox.postgres.keeper")
    with private.kept_running(settings.data_dir / "postgres") as server:
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
            _require_role(engine)
            yield open_ledger(url, engine)
        finally:
            engine.dispose()


def _require_role(engine: Engine) -> None:
    """Raise `LedgerMisconfigured` if the user may not take its role on, before anything starts."""
    with ledger_errors(engine.url), engine.connect():
        pass


def require_rights(opened: Ledger) -> None:
    """Raise `LedgerMisconfigured` if the service's role lacks a right that it needs to work.

    Without it every append would be refused and tried again, for ever.
    """
    if lacking := rights_lacking(opened.engine):
        grants = "; ".join(f"GRANT {right} TO {APP_ROLE}" for right in lacking)
        where = describe(opened.engine.url)
        raise LedgerMisconfigured(
            f"{where}: {APP_ROLE} lacks rights; as the owner of the tables: {grants}"
        )


@contextmanager
def reading(settings: Settings, *, time_limit_seconds: int) -> Iterator[Engine]:
    """Yield connections for reports: the weakest role that may read, and a time limit of their own.

    Raises:
        LedgerMisconfigured: as `ledger`.
    """
    with database(settings) as url:
        if not settings.database_url.get_secret_value():
            upgrade(url)
        require_current(url)
        with reports_engine(url, time_limit_seconds=time_limit_seconds) as engine:
            yield engine


@contextmanager
def reports_engine(url: str, *, time_limit_seconds: int) -> Iterator[Engine]:
    """Yield connections for reports on a database whose schema is known to be ours."""
    asking = open_engine(url, EngineOptions(pool_size=1))
    try:
        role = reading_role(asking)
    finally:
        asking.dispose()
    engine = open_engine(
        url,
        EngineOptions(
            role=role,
            pool_size=1,
            statement_timeout_seconds=time_limit_seconds,
            application_name="jobledger report",
            settings=REPORT_SETTINGS,
        ),
    )
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def user_engine(url: str) -> Iterator[Engine]:
    """Yield connections of the user himself, without the service's role: what may he do?"""
    engine = open_engine(url, EngineOptions(pool_size=1))
    try:
        yield engine
    finally:
        engine.dispose()


def of_cluster(opened: Ledger, cluster: str) -> Ledger:
    """Return the ledger as whoever works on the jobs of one cluster needs it.

    Shards, what is open in them and what is due are then those of that cluster.
    """
    engine = opened.engine
    return replace(
        opened,
        history=PostgresHistory(engine, cluster),
        pending=PostgresPendingDecisions(engine, cluster),
        leases=PostgresLeases(engine, cluster),
        replicas=PostgresReplicas(engine, cluster),
    )


def open_ledger(url: str, engine: Engine) -> Ledger:
    """Return everything that works on an engine."""
    return Ledger(
        url=url,
        engine=engine,
        store=PostgresEventStore(engine, SystemClock().now),
        history=PostgresHistory(engine),
        pending=PostgresPendingDecisions(engine),
        leases=PostgresLeases(engine),
        replicas=PostgresReplicas(engine),
        projections=PostgresProjections(engine),
        snapshots=PostgresSnapshots(engine),
        partitions=Partitions(engine),
        seals=PostgresSeals(engine),
        evidence=PostgresEvidence(engine),
        imports=Imports(engine),
        archives=PostgresArchives(engine),
        notifications=PostgresNotifications(engine),
    )


def report_rules(settings: Settings) -> Rules:
    """Return what an installation has chosen about its reports."""
    return Rules(user_labels=settings.report_user_labels, causes=ExplainedCauses())


def report_service(
    settings: Settings, opened: Ledger, told: Callable[[int, float], None]
) -> ReportService:
    """Return the thread that carries the reporting tables on; `told`: lag in events, in seconds."""
    return ReportService(opened.engine, report_rules(settings), told)
