"""Checks archive records against each other, against the seals, and against a signature."""

from collections.abc import Iterable, Iterator, Mapping

from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.seals.archives import Archive, fault_after
from jobledger.core.forensics.seals.sealing import Broken, Judge, SealFault
from jobledger.core.forensics.seals.seals import Seal


def broken_archives(
    archives: Iterable[Archive],
    seals: Iterable[Seal],
    judge: Judge | None,
    elsewhere: Mapping[int, bytes] | None,
) -> Iterator[Broken]:
    """Yield what is wrong with the archive records.

    Each must continue the one before; the ones that seals name must be there and the same; with a
    judge each must be signed; with `elsewhere` (number -> digest of the copies that are kept with
    the seals) each must have its copy there.
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


def _of_copies(digests: Mapping[int, bytes], elsewhere: Mapping[int, bytes]) -> Iterator[Broken]:
    for number in sorted(digests.keys() | elsewhere.keys()):
        if number not in digests:
            yield _broken(f"archive record {number} is gone from the database")
        elif number not in elsewhere:
            yield _broken(f"archive record {number} is not kept with the seals elsewhere")
        elif digests[number] != elsewhere[number]:
            yield _broken(f"archive record {number} is not the one that is kept elsewhere")


def _is_signed(archive: Archive, judge: Judge) -> bool:
    signature = archive.signature
    return signature is not None and judge.vouches(archive.digest, signature)


def _broken(what: str) -> Broken:
    return Broken(kind=SealFault.ARCHIVE, what=what)
