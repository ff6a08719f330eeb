"""`jobledger export JOB > FILE`: writes a job to a bundle that can be checked anywhere."""

import gzip
import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.dossiers import from_ledger, ledger_to_read
from jobledger.adapters.cli.files.job_names import complete_job
from jobledger.adapters.cli.options import (
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    settings_from,
)
from jobledger.adapters.cli.output import fail
from jobledger.adapters.files.written_once import in_place_of
from jobledger.adapters.forensics.bundle_files import write
from jobledger.adapters.ledger_wiring import Ledger
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.forensics.bundles.bundle import Bundle
from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.forensics.bundles.evidence import digests_in
from jobledger.core.forensics.seals.seals import Seal


def export(
    job: Annotated[
        str,
        typer.Argument(help="Name, namespace/name, UID or stream.", autocompletion=complete_job),
    ],
    namespace: NamespaceOption = "",
    cluster: ClusterOption = "",
    to: Annotated[
        Path | None,
        typer.Option(
            help="File to write; ending in .gz it is compressed. Without it: stdout, "
            "unless that is a terminal."
        ),
    ] = None,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Write a job with its events, its evidence and the proof of both as one file."""
    if to is None and sys.stdout.isatty():  # it holds what jobs said, as they said it
        fail("a bundle is not for a terminal; say --to FILE, or redirect it", ExitCode.USAGE)
    with ledger_to_read(settings_from(database_url, data_dir)) as opened:
        bundle = bundle_of(opened, from_ledger(opened, job, namespace, cluster))
    if to is None:
        write(bundle, sys.stdout)
        return
    try:
        _write_file(bundle, to)
    except OSError as error:
        fail(f"{to} cannot be written: {error.strerror}", ExitCode.MISCONFIGURED)


def _write_file(bundle: Bundle, to: Path) -> None:
    with in_place_of(to) as fresh:
        if to.suffix != ".gz":
            with fresh.open("w", encoding="utf-8") as plain:
                write(bundle, plain)
            return
        with (
            fresh.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
            io.TextIOWrapper(packed, "utf-8") as told,
        ):
            write(bundle, told)


def bundle_of(opened: Ledger, found: Dossier) -> Bundle:
    """Return the bundle of a job: what its events name, and the newest seal that speaks of it."""
    named = (digest for item in found.events for digest in digests_in(item.record.data))
    contents = {digest: found.evidence(digest) for digest in named}
    return Bundle(
        exported_at=SystemClock().now(),
        events=found.events,
        evidence={digest: content for digest, content in contents.items() if content is not None},
        seal=_seal(opened, found),
    )


def _seal(opened: Ledger, found: Dossier) -> Seal | None:
    sealed = opened.seals.seal_of([item.position for item in found.events])
    stream = found.events[0].record.stream_id
    speaks = sealed is not None and any(end.stream == stream for end in sealed.streams)
    return sealed if speaks else None
