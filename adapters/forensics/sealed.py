"""Seals new events, and checks the log against seals from wherever they are kept."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jobledger.adapters.forensics.archive_files import keep_record, kept_records, record_path
from jobledger.adapters.forensics.seal_files import keep, kept, missing, path_of
from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.seals.archive_checks import Copies, broken_archives
from jobledger.core.forensics.seals.sealing import (
    Broken,
    Judge,
    SealedLog,
    SealFault,
    Signer,
    broken,
    seal_next,
)
from jobledger.core.forensics.seals.seals import EVENTS_MAX, Seal
from jobledger.core.values.instants import Instant

WHAT_TO_DO = (
    "run `jobledger verify --seals DIRECTORY`, which names what is wrong; find out who changed it; "
    "docs/howto/prove-the-log.md says how a seal is put back"
)
"""For somebody who is told that seals are not as they were kept."""

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

    A fault of an earlier seal is no reason to leave what is new unsealed: it is told afterwards.

    Raises:
        BrokenChain: something is wrong with what would be sealed, or with the newest seal, and it
        is not sealed; or with an earlier seal, and what is new is.
        LedgerMisconfigured: the directory cannot be written.
    """
    made: list[Seal] = []
    while (fresh := _seal_next(log, now, check, options)) is not None:
        made.append(fresh)
        if options.directory is not None:
            keep(options.directory, fresh)
    if (fault := log.fault_of_seals()) is not None:
        raise BrokenChain("the seals", f"{fault}. What is new was sealed all the same")
    if options.directory is not None:
        _keep_missing(log, options.directory)
        _keep_missing_records(log, options.directory)
    return made


def _seal_next(
    log: SealedLog, now: Callable[[], Instant], check: Check, options: SealOptions
) -> Seal | None:
    """Seal the next range; None if there is none, or another replica was quicker."""
    before = log.last_seal()
    number, first = (1, 1) if before is None else (before.number + 1, before.last + 1)
    last = min(log.last_position(), first + EVENTS_MAX - 1)
    if last < first:
        return None
    if (fault := check(first, last)) is not None:
        raise BrokenChain(f"positions {first} to {last} are not sealed", fault)
    if options.directory is not None:
        _refuse_second(log, number, options.directory)
    fresh = seal_next(log, now(), options.signer)
    if fresh is None and log.kept_seal(number) is None:
        raise BrokenChain(f"seal {number}", "it was not kept, and nobody else has kept one")
    return fresh


def require_same(log: SealedLog, seen: Seal | None) -> None:
    """Raise `BrokenChain` if a seal that was seen before is gone, or is another one now."""
    if seen is None:
        return
    now = log.kept_seal(seen.number)
    if now is None:
        raise BrokenChain(f"seal {seen.number}", "it was there a while ago, and is gone")
    if now.digest != seen.digest:
        raise BrokenChain(f"seal {seen.number}", "it was another one a while ago")


def _refuse_second(log: SealedLog, number: int, directory: Path) -> None:
    """Raise `BrokenChain` if a seal is kept in the directory that the database has lost."""
    path = path_of(directory, number)
    if path.exists() and log.kept_seal(number) is None:  # or another replica was quicker
        raise BrokenChain(f"seal {number}", f"{path} keeps it, and it is gone from the database")


def _keep_missing(log: SealedLog, directory: Path) -> None:
    """Copy the seals that have no copy, and hold the newest against its own."""
    seals = list(log.seals())
    for seal in {*missing(directory, seals), *seals[-1:]}:
        keep(directory, seal)


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

    inside = log.fault_of_seals()
    upto = _newest_number(log)
    faults: list[Broken] = []
    with _noted(faults):
        seals = log.seals() if directory is None else kept(directory)
        faults.extend(broken(log, seals, judge, advance))
    if directory is not None:
        with _noted(faults):
            faults.extend(_differing(log, list(told)))
            faults.extend(_without_copy(upto, directory))
    if inside is not None:
        faults.append(_fault(inside))
    copies: Copies | None = None
    damaged: list[Broken] = []
    if directory is not None:
        with _noted(damaged, SealFault.ARCHIVE):
            copies = _copies(log, directory)
    with _noted(faults, SealFault.ARCHIVE):
        faults.extend(broken_archives(log.archives(), told, judge, copies))
    name = getattr(judge, "name", "") if judge is not None else ""
    return SealReport(
        seals=len(told),
        sealed_to=told[-1].last if told else 0,
        signed_by=name,
        faults=(*_first_of_each(faults), *damaged),
    )


def _copies(log: SealedLog, directory: Path) -> Copies:
    last = log.last_archive()
    return Copies(
        before=kept_records(directory),
        upto=last[0] if last is not None else 0,
        now=partial(kept_records, directory),
    )


@contextmanager
def _noted(faults: list[Broken], kind: SealFault = SealFault.SEAL) -> Iterator[None]:
    """Note what cannot be read as a fault, beside those that were found before."""
    try:
        yield
    except BrokenChain as error:
        faults.append(Broken(kind=kind, what=str(error)))


def _newest_number(log: SealedLog) -> int:
    try:
        last = log.last_seal()
    except BrokenChain:  # `fault_of_seals` says so
        return 0
    return 0 if last is None else last.number


def _without_copy(upto: int, directory: Path) -> Iterator[Broken]:
    """Yield the first seal that is in the database and not in the directory.

    Asked after all else: the copy of a seal that has just been made comes a moment after it.
    """
    for number in range(1, upto + 1):
        if not path_of(directory, number).exists():
            what = f"seal {number} is in the database, and {directory} has no copy of it"
            yield _fault(f"{what}: `jobledger seal add --seals {directory}` makes one")
            return


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
    return Broken(kind=SealFault.SEAL, position=position, what=what)
