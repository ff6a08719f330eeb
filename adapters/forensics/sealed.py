"""Sealing what is new, and holding the log against the seals, wherever they are kept."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from adapters.forensics.archive_files import keep_record, kept_records, record_path
from adapters.forensics.seal_files import keep, kept, missing
from core.errors import BrokenChain
from core.forensics.archive_checks import broken_archives
from core.forensics.sealing import Broken, Judge, SealedLog, SealFault, Signer, broken, seal_next
from core.forensics.seals import EVENTS_MAX, Seal
from core.values.instants import Instant

Check = Callable[[int, int], str | None]
"""Tells what is wrong with a range of positions, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealOptions:
    """How the log is sealed."""

    signer: Signer | None = None
    """Who signs; None: the seals are not signed."""
    directory: Path | None = None
    """Where every seal is kept as a file too; None: only in the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealReport:
    """What holding the log against its seals found."""

    seals: int
    sealed_to: int
    """Last position that a seal covers."""
    signed_by: str
    """Name of the key that was asked for; empty if none was."""
    faults: tuple[Broken, ...]


def seal_new(
    log: SealedLog, now: Callable[[], Instant], check: Check, options: SealOptions
) -> list[Seal]:
    """Seal everything that is not sealed yet, after checking it; return the new seals.

    Raises:
        BrokenChain: something is wrong with what would be sealed; it is not.
        LedgerMisconfigured: the directory cannot be written.
    """
    if options.directory is not None:
        for seal in missing(options.directory, list(log.seals())):
            keep(options.directory, seal)
        _keep_missing_records(log, options.directory)
    made: list[Seal] = []
    while True:
        before = log.last_seal()
        first = 1 if before is None else before.last + 1
        last = min(log.last_position(), first + EVENTS_MAX - 1)
        if last < first:
            return made
        if (fault := check(first, last)) is not None:
            raise BrokenChain(f"positions {first} to {last} are not sealed", fault)
        fresh = seal_next(log, now(), options.signer)
        if fresh is None:  # another replica was quicker
            return made
        made.append(fresh)
        if options.directory is not None:
            keep(options.directory, fresh)


def _keep_missing_records(log: SealedLog, directory: Path) -> None:
    """Copy the records of archives that have no copy; reading them all takes long if they are many.

    They are numbered from 1 without gaps.
    """
    last = log.last_archive()
    numbers = range(1, last[0] + 1 if last is not None else 1)
    absent = {number for number in numbers if not record_path(directory, number).exists()}
    for record in log.archives() if absent else ():
        if record.number in absent:
            keep_record(directory, record)


def check_seals(
    log: SealedLog,
    directory: Path | None,
    judge: Judge | None,
    progress: Callable[[int], None],
) -> SealReport:
    """Hold the log against the seals of a directory, or else against those of the database.

    Raises:
        LedgerMisconfigured: there is no such directory.
    """
    told: list[Seal] = []

    def advance(seal: Seal) -> None:
        told.append(seal)
        progress(seal.last)

    try:
        inside = log.seals()
        seals: Iterable[Seal] = inside if directory is None else kept(directory)
        faults = list(broken(log, seals, judge, advance))
        if directory is not None:
            faults += _differing(log, list(told))
        copies = kept_records(directory) if directory is not None else None
        faults += broken_archives(log.archives(), told, judge, copies)
    except BrokenChain as error:
        faults = [_fault(str(error))]
    name = getattr(judge, "name", "") if judge is not None else ""
    return SealReport(
        seals=len(told),
        sealed_to=told[-1].last if told else 0,
        signed_by=name,
        faults=tuple(_first_of_each(faults)),
    )


def _differing(log: SealedLog, outside: list[Seal]) -> list[Broken]:
    """Return what is wrong with the seals of the database by those that are kept elsewhere."""
    inside = {seal.number: seal for seal in log.seals()}
    for seal in outside:
        same = inside.get(seal.number)
        if same is None:
            return [_fault(f"seal {seal.number} is gone from the database", seal.first)]
        if same.digest != seal.digest:
            what = f"seal {seal.number} in the database is not the one that is kept elsewhere"
            return [_fault(what, seal.first)]
    return []


def _first_of_each(faults: Iterable[Broken]) -> Iterable[Broken]:
    """Return the first fault of each kind, and of each stream that is not as it was sealed."""
    seen: set[object] = set()
    for fault in faults:
        mark = fault.stream if fault.kind is SealFault.SEALED_STREAM else fault.kind
        if mark not in seen:
            seen.add(mark)
            yield fault


def _fault(what: str, position: int = 0) -> Broken:
    return Broken(kind=SealFault.SEAL, position=position, stream=None, version=0, what=what)
