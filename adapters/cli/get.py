"""`jobledger get`: the jobs in the ledger, also those that are gone from the cluster."""

from dataclasses import asdict
from typing import Annotated

import typer

from adapters.cli.finding import find_job
from adapters.cli.options import (
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from adapters.cli.output import Output, show
from adapters.ledger_wiring import ledger
from core.ports.history import JobFilter

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


def get(
    job: Annotated[
        str, typer.Argument(help="Name, namespace/name or UID. Without it: all jobs.")
    ] = "",
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
    limit: Annotated[int, typer.Option(help="At most so many jobs.", min=1)] = 200,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """List jobs, the youngest first."""
    with ledger(settings_from(database_url, data_dir)) as opened:
        if job:
            rows = [find_job(opened.history, job, namespace, cluster)]
        else:
            wanted = JobFilter(
                cluster=cluster,
                namespace=namespace,
                phase=phase,
                open_only=open_only,
                kept_only=kept_only,
            )
            rows = list(opened.history.jobs(wanted, limit))
    show(output, [asdict(row) for row in rows], COLUMNS)
