"""`jobledger import FILE`: checks a bundle and stores it beside the ledger's own jobs."""

from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.files.dossiers import of_bundle
from jobledger.adapters.cli.files.import_archive import import_archive
from jobledger.adapters.cli.options import DatabaseUrl, DataDir, settings_from
from jobledger.adapters.cli.output import console, marked
from jobledger.adapters.forensics.archive_files import is_archive
from jobledger.adapters.forensics.bundle_files import read_file
from jobledger.adapters.forensics.signing import judge
from jobledger.adapters.ledger_wiring import ledger
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.forensics.bundles.bundle import FINGERPRINT_SHOWN, Bundle, vouched_to

InPlaceOf = Annotated[
    str,
    typer.Option(
        help="Fingerprint of the import that this one replaces, where the two tell a job otherwise."
    ),
]


def import_(
    file: Annotated[
        Path,
        typer.Argument(help="A bundle of `jobledger export`, or a file of `jobledger archive`."),
    ],
    job: Annotated[
        str, typer.Option(help="Of an archive, only this job: a name, namespace/name or UID.")
    ] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Only check it; keep nothing, open no database.")
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            help="Public key that its seal must be signed by; without a seal it is refused."
        ),
    ] = None,
    in_place_of: InPlaceOf = "",
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Check a bundle, and keep it: history, explain, replay and export find the job by its name.

    Nothing is added to the log: the job belongs to another ledger, or has left this one's log.
    """
    if is_archive(file):
        public = judge(key) if key is not None else None
        if check:
            import_archive(file, job, public, None)
            return
        with ledger(settings_from(database_url, data_dir)) as opened:
            import_archive(file, job, public, opened, in_place_of)
        return
    bundle = read_file(file)
    identity = of_bundle(bundle, str(file)).identity
    last = bundle.events[-1].record.version
    sealed = vouched_to(bundle, judge(key) if key is not None else None)
    name = f"{identity.namespace}/{identity.name}"
    console.print(
        marked(
            "checked",
            "green",
            f" {name} of cluster {identity.cluster}: {last} events, "
            f"fingerprint {bundle.fingerprint[:FINGERPRINT_SHOWN]}, "
            f"{len(bundle.evidence)} pieces of evidence, {_proof(bundle, sealed)}",
        ),
        soft_wrap=True,
    )
    if check:
        return
    with ledger(settings_from(database_url, data_dir)) as opened:
        kept = opened.imports.keep(bundle, SystemClock().now(), in_place_of)
    said = "imported" if kept else "is there already, at least as long"
    console.print(f"{name} {said}", soft_wrap=True)


def _proof(bundle: Bundle, sealed: int) -> str:
    if bundle.seal is None:
        return "no seal"
    signed = bundle.seal.signature
    by = f"signed by {signed.key}" if signed is not None else "not signed"
    return f"sealed up to version {sealed} ({by})"
