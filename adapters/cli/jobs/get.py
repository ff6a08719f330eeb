"""`jobledger get`: lists the jobs in the ledger, including those deleted from the cluster."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Annotated, NamedTuple

import typer
from msgspec import structs
from rich.text import Text

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.dossiers import from_ledger, of_bundle, warn_of_a_standby
from jobledger.adapters.cli.files.job_names import complete_job
from jobledger.adapters.cli.files.known_ledgers import (
    is_private,
    is_there,
    private_name,
    remember,
    told_of_others,
)
from jobledger.adapters.cli.finding import EVERY, called, matches, tell_more
from jobledger.adapters.cli.holdings import Held, held_of
from jobledger.adapters.cli.jobs.standing import failed_of, phase_shown, suggest_explain
from jobledger.adapters.cli.options import (
    LIMIT_MAX,
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, console, errors, fail, marked, show
from jobledger.adapters.ledger_wiring import Ledger, ledger
from jobledger.adapters.postgres.connection.errors import describe
from jobledger.adapters.postgres.connection.standby import ledger_stale_since
from jobledger.adapters.serving.standings import standings
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import BrokenChain, ClusterError, UnknownEventType
from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.jobs.history.progress import ShownProgress, progress_in_short
from jobledger.core.jobs.rows import JobRow
from jobledger.core.kinds import NEW, PHASES
from jobledger.core.ports.history import JobFilter
from jobledger.core.projections.view import View, advance
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import rfc3339

IMPORTS_MAX = 1000
"""So many imported jobs are looked through, each with its whole bundle."""

COLUMNS = (
    "namespace",
    "kind",
    "name",
    "job_status",
    "phase",
    "ray_cluster_name",
    "attempt",
    "failed",
    "reason",
    "started_at",
    "ended_at",
)


Job = Annotated[
    str | None,
    typer.Argument(
        help="Name, namespace/name, UID or stream. Without it: all jobs.",
        autocompletion=complete_job,
    ),
]


def get(
    job: Job = None,
    namespace: NamespaceOption = "",
    cluster: ClusterOption = "",
    phase: Annotated[str, typer.Option(help="Only jobs in this phase.")] = "",
    open_only: Annotated[
        bool, typer.Option("--open", help="Only jobs in which something is left to do.")
    ] = False,
    kept_only: Annotated[
        bool,
        typer.Option(
            "--kept",
            help="Only ended jobs whose RayCluster stays because no rule of their "
            "deletionStrategy covers it.",
        ),
    ] = False,
    limit: Annotated[int, typer.Option(help="At most so many jobs.", min=1, max=LIMIT_MAX)] = 200,
    output: OutputOption = Output.TABLE,
    kubeconfig: Annotated[
        str,
        typer.Option(
            help="Path of a kubeconfig: ask that cluster whether another ledger controls the jobs."
            " Without it only a Pod asks its own.",
            show_default=False,
        ),
    ] = "",
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """List jobs, the youngest first, or all of one name; on standard error, of which ledger."""
    known = _phase(phase)
    settings = settings_from(database_url, data_dir, kubeconfig=kubeconfig)
    is_new = is_private(settings) and not is_there(settings.data_dir)
    with ledger(settings) as opened:
        _tell_ledger(opened, settings, output, is_new=is_new)
        _warn_of_others(opened, settings)
        wanted = JobFilter(
            cluster=cluster,
            namespace=namespace,
            phase="" if known == NEW else known,
            new_only=known == NEW,
            open_only=open_only,
            kept_only=kept_only,
        )
        listed = _like(opened, wanted, limit) if job is None else _named(opened, job, wanted, limit)
        rows = [*listed.own, *listed.imported]
        held = {one.row.stream_id: one for one in held_of(opened, rows)}
        far = standings(opened.history, rows, SystemClock().now())
        named = {row.stream_id: called(opened.history, row) for row in failed_of(rows)[:1]}
    columns = (*COLUMNS, "progress") if far else COLUMNS
    show(output, list(_all_shown(listed, held, far, output)), columns, "no jobs found")
    if listed.more:
        tell_more(limit, "like that")
    if output is Output.TABLE:
        for one in held.values():
            name = f"{one.row.kind} {one.row.namespace}/{one.row.name}"
            console.print(marked("held", "yellow", f" {name}: {one.signs}"), soft_wrap=True)
            console.print(f"     -> {one.remedy}", style="dim", soft_wrap=True)
        suggest_explain(rows, lambda row: named[row.stream_id])


class _Listed(NamedTuple):
    """The jobs that are listed."""

    own: Sequence[JobRow]
    imported: Sequence[JobRow] = ()
    """Jobs of other ledgers, as they were when they were exported."""
    more: bool = False
    """Whether there are more than were asked for."""


def _like(opened: Ledger, wanted: JobFilter, limit: int) -> _Listed:
    """Return the jobs like that; say so if there is none."""
    found = opened.history.jobs(wanted, limit + 1)
    own = found[:limit]
    of_others = _imported(opened, wanted, limit + 1 - len(found), [row.uid for row in own])
    imported = of_others[: limit - len(own)]
    if not own and not imported:
        _tell_none(is_narrowed=wanted != EVERY)
    if imported:
        names = ", ".join(f"{one.namespace}/{one.name}" for one in imported)
        errors.print(Text(f"imported, and told as when exported: {names}"), soft_wrap=True)
    return _Listed(own, imported, more=len(found) + len(of_others) > limit)


def _imported(opened: Ledger, wanted: JobFilter, limit: int, own: Collection[str]) -> list[JobRow]:
    """Return the imported jobs like that, as their bundles tell them.

    One whose bundle was changed since, or is of a newer program, is left out with a word.

    Args:
        opened: the ledger.
        wanted: which jobs are asked for.
        limit: so many at most.
        own: UIDs of jobs that are the ledger's own.
    """
    found: list[JobRow] = []
    if wanted.open_only or wanted.kept_only or limit <= 0:
        return found  # no need to read them
    all_there_are = opened.imports.latest(wanted.namespace, wanted.cluster, own)
    for count, one in enumerate(all_there_are, start=1):
        if count > IMPORTS_MAX:
            told = f"the last {IMPORTS_MAX:,} imported jobs were looked through; say a namespace"
            errors.print(Text(told, style="yellow"), soft_wrap=True)
            break
        try:
            row = _row(of_bundle(one.bundle(), one.name))
        except (BrokenChain, UnknownEventType) as error:
            said = f"the imported job {one.namespace}/{one.name} cannot be listed: {error}"
            errors.print(Text(said), style="yellow", soft_wrap=True)
            continue
        if _is_like(row, wanted):
            found.append(row)
        if len(found) >= limit:
            break
    return found


def _is_like(row: JobRow, wanted: JobFilter) -> bool:
    """Return whether an imported job is like that: in an import nothing is left to do."""
    if wanted.open_only or wanted.kept_only:
        return False
    return not row.phase if wanted.new_only else wanted.phase in ("", row.phase)


def _row(found: Dossier) -> JobRow:
    """Return a job that is in no table, as its events tell it."""
    _, rows = advance(View(), (read.event for read in found.read()))
    return rows.job


def _tell_none(*, is_narrowed: bool) -> None:
    told = "no job is like that; `jobledger get` lists all" if is_narrowed else "no job in it yet"
    errors.print(Text(told), soft_wrap=True)


def _all_shown(
    listed: _Listed,
    held: Mapping[StreamId, Held],
    far: Mapping[StreamId, ShownProgress],
    output: Output,
) -> Iterator[dict[str, object]]:
    for rows, is_imported in ((listed.own, False), (listed.imported, True)):
        for row in rows:
            yield _shown(row, held, far, output, is_imported=is_imported)


def _shown(
    row: JobRow,
    held: Mapping[StreamId, Held],
    far: Mapping[StreamId, ShownProgress],
    output: Output,
    *,
    is_imported: bool,
) -> dict[str, object]:
    """Return a job as a row, with why nothing is done for it, if so, and how far it is."""
    told: dict[str, object] | None = None
    if (one := held.get(row.stream_id)) is not None:
        since = one.holding.at
        told = {"since": since, "signs": list(one.holding.signs), "remedy": one.remedy}
    found = far.get(row.stream_id)
    if output is Output.TABLE:
        progress: object = progress_in_short(found) if found is not None else ""
        return {**structs.asdict(row), "progress": progress, "phase": phase_shown(row)}
    return {**structs.asdict(row), "held": told, "progress": found, "imported": is_imported}


def _phase(given: str) -> str:
    """Return a phase as it is written; end with a message if there is none of that name."""
    known = {phase.lower(): phase for phase in (NEW, *PHASES)}
    if given and given.lower() not in known:
        fail(f"no phase {given!r}; there are {NEW}, {', '.join(PHASES)}", ExitCode.USAGE)
    return known.get(given.lower(), "")


def _named(opened: Ledger, job: str, wanted: JobFilter, limit: int) -> _Listed:
    """Return the jobs of a name that are like that; end with a message if there is none at all.

    Of a name that the ledger does not have that which was imported, as its bundle tells it.
    """
    where = wanted.namespace, wanted.cluster
    if matches(opened.history, job, *where):
        found = matches(opened.history, job, *where, wanted, limit + 1)
        if not found:
            _tell_none(is_narrowed=True)
        return _Listed(found[:limit], more=len(found) > limit)
    of_import = from_ledger(opened, job, *where)
    row = _row(of_import)
    if not _is_like(row, wanted):
        _tell_none(is_narrowed=True)
        return _Listed(())
    errors.print(Text(f"{of_import.origin}; the job is none of this ledger's"), soft_wrap=True)
    return _Listed((), (row,))


def _tell_ledger(opened: Ledger, settings: Settings, output: Output, *, is_new: bool) -> None:
    """Say which ledger it is, whether a service works on it, and which others there are."""
    if output is not Output.TABLE:
        warn_of_a_standby(opened)
        return
    name = describe(opened.engine.url)
    if is_private(settings):
        name = private_name(settings, is_new=is_new)
        remember(settings)
    is_worked_on = any(one.owner and one.is_there for one in opened.replicas.holders())
    rest = "" if is_worked_on else "; no service works on it now"
    stale = ledger_stale_since(opened.engine)
    if stale is not None:  # the leases that it shows are as old
        told = "its primary can say whether a service works on it"
        rest = f"; a standby, which has nothing newer than {rfc3339(stale)}: {told}"
    errors.print(Text(f"ledger: {name}{rest}", style="dim"), soft_wrap=True)
    if told := told_of_others(settings):
        errors.print(Text(told, style="yellow" if is_new else "dim"), soft_wrap=True)


def _warn_of_others(opened: Ledger, settings: Settings) -> None:
    """Say if another ledger controls the jobs, as far as the cluster is named."""
    if not settings.kubeconfig and "KUBERNETES_SERVICE_HOST" not in os.environ:
        return
    # By name: without a cluster its client is not loaded, which takes as long as the command.
    wiring = import_module("jobledger.adapters.claim_wiring")
    try:
        told = wiring.who_acts_instead(opened, settings, SystemClock().now())
    except ClusterError as error:
        told = f"it is not known whether another ledger controls these jobs: {error}"
    if told:
        errors.print(marked("warning:", "yellow", f" {told}"), soft_wrap=True)
