"""`jobledger decisions`: lists the pending decisions, with their instants and reasons."""

from typing import Annotated

import typer
from msgspec.structs import asdict

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.dossiers import ledger_to_read, tell_archived
from jobledger.adapters.cli.files.job_names import complete_job
from jobledger.adapters.cli.finding import find_job, matches, named, tell_more, youngest
from jobledger.adapters.cli.options import (
    LIMIT_MAX,
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, fail, show
from jobledger.adapters.ledger_wiring import Ledger
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.ports.history import History, JobFilter
from jobledger.core.ports.pending import PendingDecisions
from jobledger.core.values.ids import SHARDS

COLUMNS = ("job", "attempt", "kind", "state", "due_at", "cause", "resolution")

_FURTHER = 10
"""So many times as many are read where too few were of the jobs that are asked for."""


def decisions(
    job: Annotated[
        str | None,
        typer.Argument(
            help="Name, namespace/name, UID or stream. Without it: all pending ones.",
            autocompletion=complete_job,
        ),
    ] = None,
    namespace: NamespaceOption = "",
    cluster: ClusterOption = "",
    limit: Annotated[
        int, typer.Option(help="At most so many pending ones.", min=1, max=LIMIT_MAX)
    ] = 200,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Show pending decisions by due time, or all decisions of one job."""
    with ledger_to_read(settings_from(database_url, data_dir)) as opened:
        if job is not None:
            if not matches(opened.history, job, namespace, cluster):
                _tell_elsewhere(opened, job, namespace)
            row = find_job(opened.history, job, namespace, cluster)
            rows = [
                {"job": f"{row.namespace}/{row.name}", **asdict(item)}
                for item in opened.history.decisions(row.stream_id)
            ]
        else:
            wanted = JobFilter(cluster=cluster, namespace=namespace, open_only=True)
            rows = pending_of(opened.pending, opened.history, wanted, limit + 1)
            if len(rows) > limit:
                rows = rows[:limit]
                tell_more(limit, "pending")
    show(output, rows, COLUMNS, "no decision is pending" if job is None else "no decisions")


def _tell_elsewhere(opened: Ledger, job: str, namespace: str) -> None:
    """End with where a job is that is not in the log, if it is anywhere."""
    space, name = named(job, namespace)
    if opened.imports.find(name, space) is not None:
        told = f"job {name} was imported, and no decision of it is one of this ledger"
        fail(f"{told}; `jobledger history {job} --all` tells all of them", ExitCode.NOT_FOUND)
    tell_archived(opened, job, namespace)


def pending_of(
    pending: PendingDecisions, history: History, wanted: JobFilter, limit: int
) -> list[dict[str, object]]:
    """Return the first `limit` pending decisions of these jobs, by due time.

    Decisions do not know the namespace of their job: more are read until enough are of these.
    """
    jobs = youngest(history, wanted)
    names = {row.stream_id: f"{row.namespace}/{row.name}" for row in jobs}
    reach = limit
    while True:
        found = pending.pending(frozenset(range(SHARDS)), reach)
        rows = [_row(item, names[item.stream_id]) for item in found if item.stream_id in names]
        if len(rows) >= limit or len(found) < reach:
            return rows[:limit]
        reach *= _FURTHER


def _row(item: DecisionRow, job: str) -> dict[str, object]:
    return {"job": job, **asdict(item)}
