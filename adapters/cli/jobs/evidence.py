"""`jobledger evidence JOB`: lists and shows the evidence of a job."""

import sys
from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.dossiers import JobArgument, dossier
from jobledger.adapters.cli.options import (
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, fail, show
from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.jobs.events import EvidenceCaptured
from jobledger.core.values.visible_text import visible

COLUMNS = ("version", "at", "attempt", "what", "source", "size", "digest")


def evidence(
    job: JobArgument,
    digest: Annotated[
        str, typer.Argument(help="Print this one: its digest, or the beginning of it.")
    ] = "",
    namespace: NamespaceOption = "",
    cluster: ClusterOption = "",
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """List what was kept of a job before it disappeared, or print one log."""
    with dossier(settings_from(database_url, data_dir), job, namespace, cluster) as found:
        rows = _rows(found)
        if not digest:
            show(output, rows, COLUMNS)
            return
        named = {str(row["digest"]) for row in rows if str(row["digest"]).startswith(digest)}
        if len(named - {""}) != 1:
            fail(f"{len(named - {''})} pieces of evidence begin with {digest}", ExitCode.NOT_FOUND)
        content = found.evidence(named.pop())
    if content is None:
        fail(f"evidence {digest} is named, and is not here", ExitCode.NOT_FOUND)
    sys.stdout.write(visible(content.decode(errors="replace").rstrip("\n")) + "\n")


def _rows(found: Dossier) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for read in found.read():
        event = read.event
        if not isinstance(event, EvidenceCaptured):
            continue
        place = {"version": read.version, "at": event.at, "attempt": event.attempt}
        rows += [
            {
                **place,
                "what": "log",
                "source": f"{log.source} {log.container}".strip(),
                "size": log.size,
                "digest": log.digest_of_content,
            }
            for log in event.logs
        ]
        for pod in event.pods:
            ends = ", ".join(
                f"{one.name} {one.reason or one.state}"
                + ("" if one.exit_code is None else f" (exit {one.exit_code})")
                for one in pod.containers
            )
            shown = f"{pod.name} {pod.phase} {pod.reason} {ends}".strip()
            rows.append({**place, "what": "Pod", "source": shown, "size": "", "digest": ""})
        rows += [
            {
                **place,
                "what": "Kubernetes Event",
                "source": f"{item.object} {item.reason}: {item.message}",
                "size": "",
                "digest": "",
            }
            for item in event.kubernetes_events
        ]
        rows += [
            {
                **place,
                "what": "missing",
                "source": f"{item.what}: {item.why}",
                "size": "",
                "digest": "",
            }
            for item in event.missing
        ]
    return rows
