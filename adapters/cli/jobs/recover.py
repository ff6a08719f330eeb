"""`jobledger recover`: releases jobs that are held because the ledger is older than the cluster.

Most are taken over by themselves. What is in doubt waits for somebody who has looked: this command
puts the annotation on the job by which the running service knows it is asked.
"""

from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.job_names import complete_job
from jobledger.adapters.cli.finding import find_job
from jobledger.adapters.cli.holdings import Held, all_held, held_of
from jobledger.adapters.cli.options import (
    ClusterOption,
    DatabaseUrl,
    DataDir,
    Kubeconfig,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, fail, show
from jobledger.adapters.cluster_wiring import kubernetes_cluster
from jobledger.adapters.ledger_wiring import Ledger, ledger
from jobledger.core.errors import ClusterError, KindNotServed, ObjectChanged, ObjectNotFound
from jobledger.core.jobs.control.lost_history import RECOVER_ANNOTATION, mark_of
from jobledger.core.jobs.rows import JobRow
from jobledger.core.kinds import KINDS
from jobledger.core.ports.cluster import Cluster
from jobledger.core.values.documents import Manifest

COLUMNS = ("namespace", "kind", "name", "held_since", "signs", "result")

WAITS = "held; `jobledger recover JOB` takes it over as the cluster shows it"
WOULD = "would be asked for"
ASKED = "asked for; the running service takes it over"
NOBODY = "no job is held"
GONE = "its object is gone, or another has its name: nothing to take over"


def shown(held: Held, result: str) -> dict[str, object]:
    """Return a held job as a row."""
    row = held.row
    return {
        "cluster": row.cluster,
        "namespace": row.namespace,
        "kind": row.kind,
        "name": row.name,
        "uid": row.uid,
        "phase": row.phase,
        "held_since": held.holding.at,
        "signs": held.signs,
        "result": result,
    }


def recover(
    job: Annotated[
        str | None,
        typer.Argument(
            help="Name, namespace/name, UID or stream. Without it: list what is held.",
            autocompletion=complete_job,
        ),
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
            found = list(all_held(opened, namespace, cluster))
    if dry_run or (job is None and not everything):
        would = [shown(one, WOULD if dry_run else WAITS) for one in found]
        show(output, would, COLUMNS, NOBODY)
        return
    server = kubernetes_cluster(settings) if found else None
    rows = [shown(one, _ask(server, one)) for one in found if server is not None]
    show(output, rows, COLUMNS, NOBODY)
    if any(row["result"] not in (ASKED, GONE) for row in rows):
        raise typer.Exit(ExitCode.REFUSED)


def _one(opened: Ledger, row: JobRow) -> Held:
    """Return a job that is held; end with a message if it is not."""
    found = held_of(opened, [row])
    if not found:
        name = f"{row.kind} {row.namespace}/{row.name}"
        fail(f"{name} is not held; `jobledger recover` lists what is", ExitCode.NOT_FOUND)
    return found[0]


def _ask(server: Cluster, held: Held) -> str:
    """Put the annotation on the very object; return what came of it."""
    row = held.row
    marks: Manifest = {RECOVER_ANNOTATION: mark_of(held.holding.at)}
    about: Manifest = {"uid": row.uid, "annotations": marks}
    try:
        server.merge_patch(KINDS[row.kind].resource, row.namespace, row.name, {"metadata": about})
    except KindNotServed as error:
        return f"refused: {error}"
    except (ObjectNotFound, ObjectChanged):
        return GONE
    except ClusterError as error:
        return f"refused: {error}"
    return ASKED
