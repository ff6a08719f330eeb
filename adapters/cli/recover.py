"""`jobledger recover`: jobs that are held because the ledger is older than the cluster.

Most are taken over by themselves. What is in doubt waits for somebody who has looked: this command
puts the annotation on the job by which the running service knows it is asked.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from adapters.cli.exit_codes import ExitCode
from adapters.cli.finding import find_job
from adapters.cli.options import (
    ClusterOption,
    DatabaseUrl,
    DataDir,
    Kubeconfig,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from adapters.cli.output import Output, fail, show
from adapters.ledger_wiring import Ledger, ledger
from adapters.wiring import kubernetes_cluster
from core.catalogue import read_event
from core.errors import ClusterError, ObjectChanged, ObjectNotFound
from core.jobs.behind import RECOVER_ANNOTATION, holding_of, mark_of
from core.jobs.events import LedgerBehindFound
from core.jobs.rows import JobRow
from core.ports.cluster import RAYJOBS, TRAINJOBS, Cluster
from core.ports.history import JobFilter
from core.values.documents import Manifest

COLUMNS = ("namespace", "kind", "name", "held_since", "signs", "result")
PAGE = 500
"""Jobs that are read at once."""

WAITS = "held; `jobledger recover JOB` takes it over as the cluster shows it"
WOULD = "would be asked for"
ASKED = "asked for; the running service takes it over"
GONE = "its object is gone, or another has its name: nothing to take over"

_RESOURCES = {one.kind: one for one in (RAYJOBS, TRAINJOBS)}


@dataclass(frozen=True, slots=True)
class Held:
    """One held job."""

    row: JobRow
    holding: LedgerBehindFound

    def shown(self, result: str) -> dict[str, object]:
        """Return it as a row."""
        return {
            "cluster": self.row.cluster,
            "namespace": self.row.namespace,
            "kind": self.row.kind,
            "name": self.row.name,
            "uid": self.row.uid,
            "phase": self.row.phase,
            "held_since": self.holding.at,
            "signs": "; ".join(self.holding.signs),
            "result": result,
        }


def recover(
    job: Annotated[
        str | None,
        typer.Argument(help="Name, namespace/name or UID. Without it: list what is held."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every job that is held, of the namespace and cluster.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say which jobs it would ask for, and ask for none.")
    ] = False,
    namespace: NamespaceOption = "",
    cluster: ClusterOption = "",
    output: OutputOption = Output.TABLE,
    kubeconfig: Kubeconfig = "",
    context: Annotated[str, typer.Option(help="Context of the kubeconfig.")] = "",
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """List jobs that are held because the ledger is older than the cluster, or take them over.

    A job that is taken over goes on from what its status and its objects show; what the ledger has
    lost stays lost. Nothing that is Complete or Failed runs again.
    """
    if job is not None and everything:
        fail("say a job or --all, not both", ExitCode.USAGE)
    settings = settings_from(database_url, data_dir, kubeconfig=kubeconfig, context=context)
    with ledger(settings) as opened:
        if job is not None:
            found = [_one(opened, find_job(opened.history, job, namespace, cluster))]
        else:
            found = list(_held(opened, namespace, cluster))
    if dry_run or (job is None and not everything):
        show(output, [one.shown(WOULD if dry_run else WAITS) for one in found], COLUMNS)
        return
    server = kubernetes_cluster(settings) if found else None
    rows = [one.shown(_ask(server, one)) for one in found if server is not None]
    show(output, rows, COLUMNS)
    if any(row["result"] not in (ASKED, GONE) for row in rows):
        raise typer.Exit(ExitCode.REFUSED)


def _one(opened: Ledger, row: JobRow) -> Held:
    """Return a job that is held; end with a message if it is not."""
    held = _holding(opened, row)
    if held is None:
        name = f"{row.kind} {row.namespace}/{row.name}"
        fail(f"{name} is not held; `jobledger recover` lists what is", ExitCode.NOT_FOUND)
    return held


def _held(opened: Ledger, namespace: str, cluster: str) -> Iterator[Held]:
    """Yield every held job; only streams of jobs that are not controlled are read."""
    last: JobRow | None = None
    while True:
        wanted = JobFilter(
            cluster=cluster,
            namespace=namespace,
            older_than=last.stream_id if last is not None else None,
        )
        page = opened.history.jobs(wanted, PAGE)
        for row in page:
            if row.recorded and row.deleted_at is None:
                held = _holding(opened, row)
                if held is not None:
                    yield held
        if len(page) < PAGE:
            return
        last = page[-1]


def _holding(opened: Ledger, row: JobRow) -> Held | None:
    stored = opened.store.read_stream(row.stream_id)
    holding = holding_of(read_event(item.record) for item in stored)
    return None if holding is None else Held(row, holding)


def _ask(server: Cluster, held: Held) -> str:
    """Put the annotation on the very object; return what came of it."""
    row = held.row
    marks: Manifest = {RECOVER_ANNOTATION: mark_of(held.holding.at)}
    about: Manifest = {"uid": row.uid, "annotations": marks}
    try:
        server.merge_patch(_RESOURCES[row.kind], row.namespace, row.name, {"metadata": about})
    except (ObjectNotFound, ObjectChanged):
        return GONE
    except ClusterError as error:
        return f"refused: {error}"
    return ASKED
