"""Checks archive records against each other, against the seals, and against a signature."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.seals.archives import Archive, fault_after
from jobledger.core.forensics.seals.sealing import Broken, Judge, SealFault
from jobledger.core.forensics.seals.seals import Seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """The copies of archive records that are kept with the seals: number -> digest.

    Records are made while they are checked, and the copy of one comes a moment after it.
    """

    before: Mapping[int, bytes]
    """Those that there were before the records were read."""
    upto: int
    """Number of the newest record then, 0 if there was none."""
    now: Callable[[], Mapping[int, bytes]]
    """Returns those that there are by now."""


def broken_archives(
    archives: Iterable[Archive],
    seals: Iterable[Seal],
    judge: Judge | None,
    elsewhere: Copies | None,
) -> Iterator[Broken]:
    """Yield what is wrong with the archive records.

    Each must continue the one before; the ones that seals name must be there and the same; with a
    judge each must be signed; with `elsewhere` each must have its copy there.
    """
    digests: dict[int, bytes] = {}
    before: Archive | None = None
    try:
        for archive in archives:
            digests[archive.number] = archive.digest
            if (fault := fault_after(before, archive)) is not None:
                yield _broken(fault)
            if judge is not None and not _is_signed(archive, judge):
                yield _broken(
                    f"archive record {archive.number} is not signed by the key that was given"
                )
            before = archive
    except BrokenChain as error:
        yield _broken(str(error))
        return
    for seal in seals:
        if seal.archive is not None and digests.get(seal.archive[0]) != seal.archive[1]:
            is_there = seal.archive[0] in digests
            how = "is not the one" if is_there else "is gone; it is the one"
            yield _broken(f"archive record {seal.archive[0]} {how} that seal {seal.number} names")
    if elsewhere is not None:
        yield from _of_copies(digests, elsewhere)


def _of_copies(digests: Mapping[int, bytes], elsewhere: Copies) -> Iterator[Broken]:
    copies = dict(elsewhere.before)
    lacking = {number for number in digests.keys() - copies.keys() if number <= elsewhere.upto}
    if lacking:
        copies.update({at: kept for at, kept in elsewhere.now().items() if at in lacking})
    for number in sorted({*lacking, *copies}):
        if number not in digests:
            yield _broken(f"archive record {number} is gone from the database")
        elif number not in copies:
            yield _broken(f"archive record {number} is not kept with the seals elsewhere")
        elif digests[number] != copies[number]:
            yield _broken(f"archive record {number} is not the one that is kept elsewhere")


def _is_signed(archive: Archive, judge: Judge) -> bool:
    signature = archive.signature
    return signature is not None and judge.vouches(archive.digest, signature)


def _broken(what: str) -> Broken:
    return Broken(kind=SealFault.ARCHIVE, what=what)
