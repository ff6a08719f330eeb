"""`jobledger evidence JOB`: lists and shows the evidence of a job."""

import sys
from dataclasses import asdict
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
from jobledger.adapters.cli.output import Output, fail, show, show_document
from jobledger.core.forensics.story.kept import kept
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
        rows = [asdict(one) for one in kept(found.read())]
        if not digest:
            show(output, rows, COLUMNS, "no evidence was kept")
            return
        begun = (row for row in reversed(rows) if str(row["digest"]).startswith(digest))
        named = {str(row["digest"]): row for row in begun}  # of several of one content the first
        if len(named) != 1:
            told = f"{len(named)} pieces of evidence begin with {digest}"
            fail(f"{told}; `jobledger evidence {job}` lists them", ExitCode.NOT_FOUND)
        ((whole, row),) = named.items()
        content = found.evidence(whole)
    if content is None:
        fail(f"evidence {digest} is named, and is not here", ExitCode.NOT_FOUND)
    log = content.decode(errors="replace")
    if output is Output.TABLE:
        sys.stdout.write(visible(log.rstrip("\n")) + "\n")
        return
    show_document(output, {**row, "content": log})
