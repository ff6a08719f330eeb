"""Resolves the argument JOB to a dossier, from a bundle or from the ledger."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.job_names import complete_job
from jobledger.adapters.cli.files.known_ledgers import tell_if_made
from jobledger.adapters.cli.finding import choose, find_job, matches, named
from jobledger.adapters.cli.output import errors, fail, marked
from jobledger.adapters.forensics.bundle_files import read_file
from jobledger.adapters.ledger_wiring import Ledger, ledger
from jobledger.adapters.postgres.connection.standby import ledger_stale_since
from jobledger.adapters.settings import Settings
from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.bundles.bundle import Bundle
from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.values.instants import rfc3339

IN_THE_LEDGER = "the ledger"
"""Origin of a job that is in the log, and neither imported nor in a file."""

JobArgument = Annotated[
    str,
    typer.Argument(
        help="Name, namespace/name, UID or stream; or the file of a bundle.",
        autocompletion=complete_job,
    ),
]


def is_file(job: str) -> bool:
    """Return whether JOB is the file of a bundle: there is one, or it looks like one."""
    is_named_so = job.endswith((".bundle", ".bundle.gz", ".jsonl", ".jsonl.gz"))
    return _is_there(Path(job).is_file) or is_named_so


def is_directory(job: str) -> bool:
    """Return whether JOB is a directory."""
    return job != "" and _is_there(Path(job).is_dir)


def _is_there(is_so: Callable[[], bool]) -> bool:
    try:
        return is_so()
    except OSError:  # a name that no file can have
        return False


def tell_archived(opened: Ledger, job: str, namespace: str) -> None:
    """End with where a job is, if it has left the log for an archive."""
    namespace, name = named(job, namespace)
    for row in opened.archives.find(name, namespace):
        told = f"job {name} is archived in {row['file']}; `jobledger import {row['file']} --job"
        fail(f"{told} {row['namespace']}/{row['name']}` brings it back", ExitCode.NOT_FOUND)


def of_bundle(bundle: Bundle, origin: str) -> Dossier:
    """Return the job of a bundle."""
    return Dossier(events=bundle.events, evidence=reader_of(bundle.evidence), origin=origin)


@contextmanager
def dossier(
    settings: Settings, job: str, namespace: str = "", cluster: str = ""
) -> Iterator[Dossier]:
    """Yield a job: of a file, else of the ledger, else of what was imported into it.

    Raises:
        BrokenChain: the bundle is not as it was exported.
    """
    with ledger_for(settings, job) as opened:
        yield found_in(opened, job, namespace, cluster)


@contextmanager
def ledger_for(settings: Settings, *jobs: str) -> Iterator[Ledger | None]:
    """Yield the opened ledger; None where all jobs are files, which need none."""
    if all(is_file(job) for job in jobs):
        yield None
        return
    with ledger_to_read(settings) as opened:
        yield opened


@contextmanager
def ledger_to_read(settings: Settings) -> Iterator[Ledger]:
    """Yield the opened ledger; say, on standard error, if it is new, or a standby that lags."""
    tell_if_made(settings)
    with ledger(settings) as opened:
        warn_of_a_standby(opened)
        yield opened


def found_in(opened: Ledger | None, job: str, namespace: str = "", cluster: str = "") -> Dossier:
    """Return a job: of a file, else as `from_ledger` does.

    Raises:
        BrokenChain: the bundle is not as it was exported.
    """
    if opened is None or is_file(job):
        return of_bundle(read_file(Path(job)), job)
    return from_ledger(opened, job, namespace, cluster)


def warn_of_a_standby(opened: Ledger) -> None:
    """Say so, if what is told of a job may be out of date."""
    if (stale := ledger_stale_since(opened.engine)) is not None:
        told = f" a standby is asked, which has nothing newer than {rfc3339(stale)}"
        errors.print(marked("warning:", "yellow", told), soft_wrap=True)


def from_ledger(opened: Ledger, job: str, namespace: str = "", cluster: str = "") -> Dossier:
    """Return a job of a ledger, its own or imported; end with a message if there is none.

    Raises:
        BrokenChain: the ledger has a row of it, and no event.
    """
    found = matches(opened.history, job, namespace, cluster)
    if not found:
        space, name = named(job, namespace)
        imported = opened.imports.find(name, space)
        if imported is None:
            tell_archived(opened, job, namespace)
            find_job(opened.history, job, namespace, cluster)
            fail(f"no job {job}", ExitCode.NOT_FOUND)
        return of_bundle(imported.bundle(), f"imported at {imported.imported_at:%Y-%m-%d %H:%M:%S}")
    row = choose(found, job)
    events = tuple(opened.store.read_stream(row.stream_id))
    if not events:
        problem = "it stands in the table of jobs and has no event in the log"
        advice = "`jobledger rebuild --check` compares the two"
        raise BrokenChain(f"job {row.namespace}/{row.name}", f"{problem}; {advice}")
    return Dossier(
        events=events,
        evidence=opened.evidence.get,
        origin=IN_THE_LEDGER,
    )
