"""Composition root of forensics: connects the ledger with keys, files and settings."""

import importlib.metadata
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from jobledger.adapters.forensics.archiving import ArchiveParts, Progress
from jobledger.adapters.forensics.sealed import WHAT_TO_DO, SealOptions, require_same, seal_new
from jobledger.adapters.forensics.signing import signer
from jobledger.adapters.http.api.application import api_routes, on_http_exception
from jobledger.adapters.http.api.guard import Guard, KnownToken, Reviewer, is_loopback
from jobledger.adapters.http.api.openapi import openapi
from jobledger.adapters.http.api.review import Creator, KubernetesReviewer
from jobledger.adapters.http.page.door import Door
from jobledger.adapters.http.page.parts import PageParts
from jobledger.adapters.http.page.site import page_routes
from jobledger.adapters.ledger_wiring import Ledger, report_rules
from jobledger.adapters.postgres.connection.statements import analyze_grown, database_identity
from jobledger.adapters.postgres.log.evidence import PostgresEvidence
from jobledger.adapters.postgres.log.partitions import Partitions
from jobledger.adapters.postgres.reports.projecting.projector import catch_up
from jobledger.adapters.postgres.schema.version import status
from jobledger.adapters.postgres.verifying.seals import PostgresSeals
from jobledger.adapters.postgres.verifying.verify import Extent, verify
from jobledger.adapters.scheduler.alarms import SchedulerAlarms
from jobledger.adapters.service.assembly import ServicePorts
from jobledger.adapters.service.evidence.capture import Capturer
from jobledger.adapters.service.evidence.one_capture import CaptureParts
from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import BrokenChain, JobledgerError, LedgerMisconfigured
from jobledger.core.forensics.seals.seals import Seal
from jobledger.core.ports.evidence import PodWitness
from jobledger.core.ports.projections import Snapshots
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

PARTITIONS_EVERY = timedelta(hours=6)
ANALYZE_EVERY = timedelta(minutes=15)
SWEEP_EVERY = timedelta(minutes=20)

AFTER_A_FAILOVER = (
    "the database was promoted or restored without it; if seals are kept elsewhere, take the "
    "copies of those that were lost out of that directory (docs/howto/prove-the-log.md)"
)
"""For somebody whose ledger lost seals together with what they cover."""

_MACHINE = SystemClock()


def seal_log(
    settings: Settings, engine: Engine, now: Callable[[], Instant] = _MACHINE.now
) -> list[Seal]:
    """Check and seal what is new in the log; return the new seals.

    Raises:
        BrokenChain: something is wrong with what would be sealed.
        LedgerMisconfigured: the key or the directory cannot be used.
    """
    key = settings.seal_key_file

    def check(first: int, last: int) -> str | None:
        fault = verify(engine, lambda *_: None, Extent(first=first, last=last)).fault
        return None if fault is None else f"{fault.kind} at position {fault.position}: {fault.what}"

    options = SealOptions(
        signer=signer(key) if key is not None else None, directory=settings.seals_dir
    )
    return seal_new(PostgresSeals(engine), now, check, options)


class SealingDuty:
    """Seals what is new from time to time; what prevents it is said, and tried again later.

    It remembers the newest seal it has seen, so that one that is taken away while it runs shows,
    even if whoever does it corrects everything that speaks of it. What it remembers is of one
    history of the database: a replica that was promoted may have lost seals with the last
    transactions, which is said and no trouble of the seals that are there.
    """

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        told: Callable[[int], None],
        now: Callable[[], Instant] = _MACHINE.now,
    ) -> None:
        """`told` gets 1 after a turn that found all seals as they were kept, and 0 otherwise.

        `now` dates the seals, by the clock that dates the events.
        """
        self._settings = settings
        self._engine = engine
        self._told, self._now = told, now
        self._newest: Seal | None = None
        self._history = ""
        """The database whose newest seal is remembered."""

    def seal(self) -> None:
        """Seal what is new."""
        seals = PostgresSeals(self._engine)
        try:
            self._forget_what_a_failover_lost(seals)
            require_same(seals, self._newest)
            for made in seal_log(self._settings, self._engine, self._now):
                log.info("sealed", number=made.number, last=made.last, digest=made.digest.hex())
            self._newest = seals.last_seal()
        except BrokenChain as error:
            self._told(0)
            log.error("seals_broken", error=str(error), remedy=WHAT_TO_DO)  # noqa: TRY400  # a trace would say nothing
        except JobledgerError as error:
            log.warning("not_sealed", error=str(error))
        else:
            self._told(1)

    def _forget_what_a_failover_lost(self, seals: PostgresSeals) -> None:
        """Hold what is remembered against its own history of the database only.

        Whoever may only write to tables cannot begin another one: that takes the server.
        """
        history = database_identity(self._engine)
        if self._newest is not None and history != self._history:
            try:
                require_same(seals, self._newest)
            except BrokenChain as error:
                log.warning("seals_lost_by_failover", error=str(error), remedy=AFTER_A_FAILOVER)
            self._newest = None
        self._history = history


def make_partitions_quietly(partitions: Partitions, now: Callable[[], Instant]) -> None:
    """Make the partitions of the months around now; what prevents it is a line in the log."""
    try:
        partitions.ensure_around(now())
    except JobledgerError as error:
        log.warning("partitions_not_made", error=str(error))


def sweep_quietly(snapshots: Snapshots) -> None:
    """Remove snapshots that no start needs; what prevents it is a line in the log."""
    try:
        snapshots.sweep()
    except JobledgerError as error:
        log.warning("snapshots_not_swept", error=str(error))


def analyze_quietly(engine: Engine) -> None:
    """Let the planner look at what has grown; what prevents it is a line in the log."""
    try:
        grown = analyze_grown(engine)
    except JobledgerError as error:
        log.warning("not_analyzed", error=str(error))
    else:
        if grown:
            log.info("analyzed", tables=grown)


def keep_house(opened: Ledger, alarms: SchedulerAlarms, now: Callable[[], Instant]) -> None:
    """Add the duties by which the database stays in order."""
    make = partial(make_partitions_quietly, opened.partitions, now)
    alarms.add_duty("make partitions", make, PARTITIONS_EVERY, at_once=True)
    analyze = partial(analyze_quietly, opened.engine)
    alarms.add_duty("analyze what has grown", analyze, ANALYZE_EVERY)
    sweep = partial(sweep_quietly, opened.snapshots)
    alarms.add_duty("sweep snapshots", sweep, SWEEP_EVERY)


def archive_parts(
    settings: Settings, opened: Ledger, directory: Path, progress: Progress
) -> ArchiveParts:
    """Return what archives jobs of a ledger into a directory."""
    key = settings.seal_key_file
    return ArchiveParts(
        store=opened.store,
        evidence=opened.evidence,
        archives=opened.archives,
        directory=directory,
        schema=status(opened.url).current or "",
        now=SystemClock().now,
        signer=signer(key) if key is not None else None,
        copies=settings.seals_dir,
        progress=progress,
        catch_up=partial(catch_up, opened.engine, report_rules(settings)),
    )


def reviewer_of(settings: Settings, cluster: Callable[[], Creator]) -> Reviewer | None:
    """Return who judges the tokens of readers; None: nobody has to, as it is on loopback only.

    `cluster` gives the API server, if it is to judge.

    Raises:
        LedgerMisconfigured: the token cannot be read, or the address is open to others and nobody
        judges.
    """
    if settings.api_token_file is not None:
        try:
            token = settings.api_token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            message = f"the token file {settings.api_token_file} cannot be read: {error}"
            raise LedgerMisconfigured(message) from error
        if not token:
            raise LedgerMisconfigured(f"the token file {settings.api_token_file} is empty")
        return KnownToken(token)
    if settings.api_token_review:
        return KubernetesReviewer(cluster(), time.monotonic)
    if is_loopback(settings.host):
        return None
    raise LedgerMisconfigured(
        f"the API is not served on {settings.host} to everybody; set JOBLEDGER_API_TOKEN_FILE "
        "or JOBLEDGER_API_TOKEN_REVIEW"
    )


def with_api(app: Starlette, pages: PageParts, reviewer: Reviewer | None) -> ASGIApp:
    """Return an application that serves the JSON API and the pages too; guarded."""
    description = openapi(importlib.metadata.version("jobledger"))
    app.router.routes.extend(api_routes(pages.sources, description, pages.stale_since))
    app.router.routes.extend(page_routes(pages))
    app.add_exception_handler(HTTPException, on_http_exception)
    return Door(Guard(app, reviewer), reviewer)


def with_api_if_allowed(
    app: Starlette, pages: PageParts, settings: Settings, cluster: Callable[[], Creator]
) -> ASGIApp:
    """Return the application with API and pages, or without if nobody may read; the log says so."""
    try:
        return with_api(app, pages, reviewer_of(settings, cluster))
    except LedgerMisconfigured as error:
        log.warning("api_not_served", why=str(error))
        return app


def capturer(
    settings: Settings,
    store: PostgresEvidence,
    witness: PodWitness,
    ports: ServicePorts,
    live: ObjectCache,
    inbox: Inbox,
) -> Capturer | None:
    """Return what captures evidence; None, if none is to be captured."""
    if settings.evidence_seconds <= 0:
        return None
    return Capturer(
        CaptureParts(
            cluster=ports.cluster,
            witness=witness,
            ray=ports.ray,
            live=live,
            store=store,
            inbox=inbox,
            clock=ports.clock,
            limit=timedelta(seconds=settings.evidence_seconds),
        )
    )
