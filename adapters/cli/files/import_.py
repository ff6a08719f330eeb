"""`jobledger import FILE`: checks a bundle and stores it beside the ledger's own jobs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.dossiers import of_bundle
from jobledger.adapters.cli.finding import named
from jobledger.adapters.cli.options import DatabaseUrl, DataDir, settings_from
from jobledger.adapters.cli.output import console, fail, marked
from jobledger.adapters.forensics.archive_files import bundles, is_archive, seals_of
from jobledger.adapters.forensics.bundle_files import read_file
from jobledger.adapters.forensics.signing import judge
from jobledger.adapters.ledger_wiring import Ledger, ledger
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.forensics.bundles.bundle import FINGERPRINT_SHOWN, Bundle, vouched_to
from jobledger.core.forensics.seals.sealing import Judge
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.values.counted import counted

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
        str,
        typer.Option(help="Of an archive, only this job: a name, namespace/name, UID or stream."),
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
            _import_archive(file, job, public, None)
            return
        with ledger(settings_from(database_url, data_dir)) as opened:
            _import_archive(file, job, public, opened, in_place_of)
        return
    bundle = read_file(file)
    identity = of_bundle(bundle, str(file)).identity
    if job and not _is_meant(bundle, identity, job):
        _end_without(file, job)
    last = bundle.events[-1].record.version
    sealed = vouched_to(bundle, judge(key) if key is not None else None)
    name = f"{identity.namespace}/{identity.name}"
    console.print(
        marked(
            "checked",
            "green",
            f" {name} of cluster {identity.cluster}: {counted(last, 'event')}, "
            f"fingerprint {bundle.fingerprint[:FINGERPRINT_SHOWN]}, "
            f"{counted(len(bundle.evidence), 'piece')} of evidence, {_proof(bundle, sealed)}",
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


def _import_archive(
    file: Path, job: str, judge: Judge | None, opened: Ledger | None, in_place_of: str = ""
) -> None:
    """Check the jobs of an archive, or one of them, and keep them; keep nothing without a ledger.

    `in_place_of` is the fingerprint of an import that one of them replaces.

    Raises `BrokenChain` if one is not as it was archived, or not as it was sealed.
    """
    meant = {bundle.stream for bundle in _wanted(file, job)} if job else set()
    count, newest = seals_of(file, lambda stream: not job or stream in meant)
    checked = kept = 0
    for bundle in _wanted(file, job):
        where = f"job {bundle.stream} of {file}"
        vouched_to(replace(bundle, seal=newest.get(bundle.stream)), judge, where)
        checked += 1
        if opened is not None:
            kept += opened.imports.keep(bundle, SystemClock().now(), in_place_of)
    if job and not checked:
        _end_without(file, job)
    told = f" {counted(checked, 'job')} of {file.name}, {counted(count, 'seal')}"
    console.print(marked("checked", "green", told), soft_wrap=True)
    if opened is not None:
        known = checked - kept
        were = "was" if known == 1 else "were"
        console.print(f"{kept} imported, {known} {were} there already", soft_wrap=True)


def _wanted(file: Path, job: str) -> Iterator[Bundle]:
    for bundle in bundles(file):
        identity = of_bundle(bundle, str(file)).identity
        if not job or _is_meant(bundle, identity, job):
            yield bundle


def _is_meant(bundle: Bundle, identity: JobIdentity, job: str) -> bool:
    """Return whether a JOB names this one."""
    space, name = named(job)
    is_named = name in (identity.name, identity.uid, str(bundle.stream))
    return is_named and space in ("", identity.namespace)


def _end_without(file: Path, job: str) -> NoReturn:
    fail(f"{file} holds no job {job}", ExitCode.NOT_FOUND)
