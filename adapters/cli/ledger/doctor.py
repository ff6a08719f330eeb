"""`jobledger doctor`: checks an installation, and says what to do about each finding."""

import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any

import typer

from jobledger.adapters.cli.holdings import all_held
from jobledger.adapters.cli.ledger.doctor_world import Patient, cluster_view, objects, patient
from jobledger.adapters.cli.ledger.findings import Answer, asked, end_by, tell
from jobledger.adapters.cli.options import (
    DatabaseUrl,
    DataDir,
    Kubeconfig,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output
from jobledger.adapters.cli.progressing import progressing
from jobledger.adapters.kinds import checks as of_kinds
from jobledger.adapters.kube.checks import cluster as of_cluster
from jobledger.adapters.kube.checks import leaks, webhooks
from jobledger.adapters.ledger_wiring import Ledger
from jobledger.adapters.postgres.checks import guards, housekeeping, invariants
from jobledger.adapters.postgres.checks.busy import busy_jobs
from jobledger.adapters.postgres.checks.invariants import RAY_HEADS
from jobledger.adapters.postgres.checks.log_clock import LOG_CLOCK
from jobledger.adapters.postgres.connection.statements import database_now
from jobledger.adapters.postgres.refolding.rebuilding import compare
from jobledger.adapters.postgres.verifying.condition import condition
from jobledger.adapters.postgres.verifying.orphans import orphans
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import JobledgerError, LedgerUnavailable
from jobledger.core.forensics.findings import Check, Finding, error, warning

SAMPLE_JOBS = 200
"""Jobs that are folded anew without --full."""

SHOWN_MAX = 5
"""So many rows of no job are named."""

CLOCK_SECONDS_MAX = 2.0
CLOCK_SECONDS_ERROR = 30.0

OF_API_SERVER = (*of_cluster.CHECKS, *webhooks.CHECKS, *of_kinds.CHECKS)

NEAR = 0.95
"""A slowed job has about half its budget in an hour: what comes back of it."""


def doctor(
    full: Annotated[
        bool, typer.Option("--full", help="Fold every job anew and read the whole log.")
    ] = False,
    only: Annotated[
        str, typer.Option(help="database or cluster: only what concerns that. Without it: both.")
    ] = "",
    kubeconfig: Kubeconfig = "",
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Check the invariants of the ledger, permissions, clocks, and what lags or leaks. Reads only.

    Ends with 1 if anything is found that somebody should do something about.
    """
    if only not in {"", "database", "cluster"}:
        raise typer.BadParameter("--only is database or cluster")
    settings = settings_from(database_url, data_dir, kubeconfig=kubeconfig)
    with patient(settings, only) as found, progressing() as progress:
        task = progress.add_task("checks", total=None)
        done: list[Answer] = []
        for check, asks, findings in _all(found, full=full):
            progress.update(task, advance=1, description=check)
            done.append((check, asks, findings))
    tell(done, output)
    end_by(done)


def _all(found: Patient, *, full: bool) -> Iterator[Answer]:
    for name, asks in REACHED.items():
        if name in found.looked_at:
            yield name, asks, [item for item in found.unreachable if item.check == name]
    if found.opened is not None:
        yield from _of_database(found, full=full)
    if found.transport is not None:
        view, about = cluster_view(found), objects(found)
        left_out = of_kinds.left_out(view.wants)
        yield from asked([one for one in OF_API_SERVER if one not in left_out], lambda: view)
        yield from asked(leaks.CHECKS, lambda: about)


def _of_database(found: Patient, *, full: bool) -> Iterator[Answer]:
    opened = found.opened
    assert opened is not None
    yield from of_condition(opened)
    yield from asked(guards.CHECKS, lambda: opened.engine)
    yield from asked((DATABASE_CLOCK,), lambda: found)
    yield from asked((RAY_HEADS, LOG_CLOCK), lambda: opened.engine)
    yield from asked(invariants.CHECKS, lambda: opened.engine)
    if full:
        yield from asked(invariants.WHOLE, lambda: opened.engine)
    folds = FOLD_ALL if full else FOLD_SOME
    yield from asked((folds,), lambda: found)
    yield from asked(OF_JOBS, lambda: found)


def of_condition(opened: Ledger) -> Iterator[Answer]:
    """Yield what the condition of the database shows; or, once, that it cannot be asked.

    Raises:
        LedgerUnavailable: the database answers nothing, so that nothing else can be asked either.
    """
    try:
        state = condition(opened.engine)
    except JobledgerError as problem:
        if isinstance(problem, LedgerUnavailable):
            database_now(opened.engine)  # it may be slow, or locked, and answer all else
        what = f"it could not be asked: {problem}"
        yield *CONDITION, [error(CONDITION[0], what, f"mend that first; not made are {_LEFT_OUT}")]
        return
    yield *CONDITION, []
    yield from asked(housekeeping.CHECKS, lambda: state)


def database_clock(found: Patient) -> Iterator[Finding]:
    """Yield a difference between this clock and the database's: leases end by the latter."""
    assert found.opened is not None
    before = SystemClock().now()
    theirs = database_now(found.opened.engine)
    after = SystemClock().now()
    off = max((before - theirs).total_seconds(), (theirs - after).total_seconds())
    if off > CLOCK_SECONDS_MAX:
        how = error if off > CLOCK_SECONDS_ERROR else warning
        what = f"this clock and the database's are {off:.1f} s apart"
        yield how("database-clock", what, "synchronise both (NTP)")


def status_of_log(found: Patient, jobs: int | None) -> Iterator[Finding]:
    """Yield jobs whose rows are not what the log says; of all jobs also rows of none."""
    opened = found.opened
    assert opened is not None
    streams = list(opened.history.streams())
    if jobs is not None and len(streams) > jobs:
        streams = random.sample(streams, jobs)
    for stream in streams:
        differences = compare(opened, stream)
        if differences:
            first = differences[0]
            what = (
                f"job {stream}: {first.table}.{first.column} is {first.found} and the log says "
                f"{first.expected}; {len(differences)} differences"
            )
            yield error(
                "status-of-log", what, "`jobledger rebuild` puts what the log says in place"
            )
    if jobs is None:
        yield from _rows_of_no_job(opened)


def _rows_of_no_job(opened: Ledger) -> Iterator[Finding]:
    lost = orphans(opened.engine)
    if lost:
        named = "; ".join(f"{row.table} {row.key}" for row in lost[:SHOWN_MAX])
        more = f"; and {len(lost) - SHOWN_MAX} more" if len(lost) > SHOWN_MAX else ""
        belong = "row belongs" if len(lost) == 1 else "rows belong"
        what = f"{len(lost)} {belong} to no job of the log: {named}{more}"
        remedy = "`jobledger rebuild` removes them, as the owner of the tables"
        yield error("status-of-log", what, remedy)


REACHED = {
    "schema": "Can the ledger be reached, and does this program work with its schema?",
    "api-server": "Can the API server be reached?",
}
"""What comes before all other checks of the database and of the cluster."""

CONDITION = ("condition", "Can the condition of the database be read?")
_LEFT_OUT = ", ".join(check.name for check in housekeeping.CHECKS)

DATABASE_CLOCK: Check[Patient] = Check(
    name="database-clock",
    asks="Do this clock and the database's agree?",
    run=database_clock,
)
FOLD_SOME: Check[Patient] = Check(
    name="status-of-log",
    asks=f"Are the rows of {SAMPLE_JOBS} jobs what the log says? (of all with --full)",
    run=lambda found: status_of_log(found, SAMPLE_JOBS),
)
FOLD_ALL: Check[Patient] = Check(
    name="status-of-log",
    asks="Are the rows of all jobs what the log says?",
    run=lambda found: status_of_log(found, None),
)


def catalogue() -> Iterator[tuple[str, str, str]]:
    """Yield where each check looks, its name, and what it asks, for the documents."""
    yield "database", "schema", REACHED["schema"]
    yield "database", *CONDITION
    of_database: tuple[Check[Any], ...] = (
        *housekeeping.CHECKS,
        *guards.CHECKS,
        DATABASE_CLOCK,
        FOLD_SOME,
        *OF_JOBS,
        RAY_HEADS,
        LOG_CLOCK,
        *invariants.CHECKS,
        *invariants.WHOLE,
    )
    for check in of_database:
        yield "database", check.name, check.asks
    yield "cluster", "api-server", REACHED["api-server"]
    of_objects: tuple[Check[Any], ...] = (*OF_API_SERVER, *leaks.CHECKS)
    for check in of_objects:
        yield "cluster", check.name, check.asks


def held_jobs(found: Patient) -> Iterator[Finding]:
    """Yield jobs that are held because the ledger is older than the cluster."""
    assert found.opened is not None
    for held in all_held(found.opened):
        row = held.row
        name = f"{row.kind} {row.namespace}/{row.name} of cluster {row.cluster}"
        what = f"{name} is held since {held.holding.at:%Y-%m-%d %H:%M:%S}Z: {held.signs}"
        yield warning("held-jobs", what, held.remedy)


def slowed_jobs(found: Patient) -> Iterator[Finding]:
    """Yield jobs that have used up their budget of events, or are about to."""
    assert found.opened is not None
    budget = found.settings.job_events_per_hour
    least = max(1, int(budget / 2 * NEAR))
    for job in busy_jobs(found.opened.engine, timedelta(hours=1), least):
        what = (
            f"{job.kind} {job.namespace}/{job.name} has had {job.events} events within an hour, of "
            f"{budget // 2} at once and {budget // 2} more: it is slowed, or about to be"
        )
        remedy = (
            f"see what repeats: jobledger history {job.namespace}/{job.name}; then mend that, or "
            "raise JOBLEDGER_JOB_EVENTS_PER_HOUR"
        )
        yield warning("slowed-jobs", what, remedy)


OF_JOBS: tuple[Check[Patient], ...] = (
    Check(
        name="held-jobs",
        asks="Is no job held because the ledger is older than the cluster?",
        run=held_jobs,
    ),
    Check(
        name="slowed-jobs",
        asks="Has every job events left in its budget of the hour?",
        run=slowed_jobs,
    ),
)
