"""`jobledger import ARCHIVE`: jobs that have left the log, back to be read."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from adapters.cli.dossiers import of_bundle
from adapters.cli.exit_codes import ExitCode
from adapters.cli.finding import named
from adapters.cli.output import console, fail, marked
from adapters.forensics.archive_files import bundles, seals
from adapters.ledger_wiring import Ledger
from adapters.telemetry.clock import SystemClock
from core.forensics.bundle import Bundle, lines, vouched_to
from core.forensics.sealing import Judge
from core.forensics.seals import Seal


def import_archive(file: Path, job: str, judge: Judge | None, opened: Ledger | None) -> None:
    """Check the jobs of an archive, or one of them, and keep them; keep nothing without a ledger.

    Raises `BrokenChain` if one is not as it was archived, or not as it was sealed.
    """
    covering = seals(file)
    checked = kept = 0
    for bundle in _wanted(file, job):
        vouched_to(replace(bundle, seal=_newest(covering, bundle)), judge)
        identity = of_bundle(bundle, str(file)).identity
        last = bundle.events[-1].record.version
        checked += 1
        if opened is not None:
            opened.imports.check(bundle)
            text = "".join(lines(bundle))
            kept += opened.imports.keep(identity, last, text, SystemClock().now())
    if job and not checked:
        fail(f"{file} holds no job {job}", ExitCode.NOT_FOUND)
    told = f" {checked} jobs of {file.name}, {len(covering)} seals"
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


def _newest(covering: Sequence[Seal], bundle: Bundle) -> Seal | None:
    """Return the newest seal that speaks of a job."""
    speak = [seal for seal in covering if any(end.stream == bundle.stream for end in seal.streams)]
    return speak[-1] if speak else None
