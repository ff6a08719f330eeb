"""`jobledger import ARCHIVE`: brings archived jobs back for reading."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.dossiers import of_bundle
from jobledger.adapters.cli.finding import named
from jobledger.adapters.cli.output import console, fail, marked
from jobledger.adapters.forensics.archive_files import bundles, seals_of
from jobledger.adapters.ledger_wiring import Ledger
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.forensics.bundles.bundle import Bundle, vouched_to
from jobledger.core.forensics.seals.sealing import Judge


def import_archive(
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
        fail(f"{file} holds no job {job}", ExitCode.NOT_FOUND)
    told = f" {checked} jobs of {file.name}, {count} seals"
    console.print(marked("checked", "green", told), soft_wrap=True)
    if opened is not None:
        console.print(f"{kept} imported, {checked - kept} were there already", soft_wrap=True)


def _wanted(file: Path, job: str) -> Iterator[Bundle]:
    space, name = named(job)
    for bundle in bundles(file):
        identity = of_bundle(bundle, str(file)).identity
        is_named = not job or name in (identity.name, identity.uid)
        if is_named and (not space or identity.namespace == space):
            yield bundle
