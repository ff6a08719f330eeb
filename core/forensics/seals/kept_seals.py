"""Checks that the seals stored in the ledger are complete and unchanged.

A seal in the ledger has its number and positions beside it, and the ledger says which one was kept
last. Removing a seal, moving one or putting one in leaves these at odds with each other, unless
whoever does it corrects all of them: then only a copy that is kept elsewhere, or a process that
remembers the seal, can tell.
"""

from dataclasses import dataclass

from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.seals.seals import FIRST, Seal, read


@dataclass(frozen=True, slots=True, kw_only=True)
class SealRow:
    """A seal as the ledger keeps it: its document, and beside it what can be searched for."""

    number: int
    first: int
    last: int
    document: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SealHead:
    """Which seal was kept last, as the ledger notes it beside the seals."""

    number: int
    """0 while there is none."""
    digest: bytes
    """`FIRST` while there is none."""


def seal_of(row: SealRow) -> Seal:
    """Return the seal of a row; raise `BrokenChain` if what stands beside it is not what it says.

    The row's number names it in the message: the document may be another seal's.
    """
    try:
        seal = read(row.document)
    except BrokenChain as error:
        raise BrokenChain(f"seal {row.number}", error.problem) from error
    if seal.number != row.number:
        raise BrokenChain(f"seal {row.number}", f"what is kept there is seal {seal.number}")
    if (seal.first, seal.last) != (row.first, row.last):
        raise BrokenChain(
            f"seal {row.number}",
            f"it covers positions {seal.first} to {seal.last}, and beside it stand "
            f"{row.first} to {row.last}",
        )
    return seal


def require_last(head: SealHead, last: Seal | None) -> None:
    """Raise `BrokenChain` unless the newest seal that is there is the one that was kept last."""
    number, digest = (0, FIRST) if last is None else (last.number, last.digest)
    if number < head.number:
        raise BrokenChain(
            f"seal {head.number}", f"it was kept last, and is gone: {_named(number)} is the newest"
        )
    if number > head.number:
        raise BrokenChain(f"seal {number}", f"it was put in: {_named(head.number)} was kept last")
    if digest != head.digest:
        raise BrokenChain(f"seal {number}", "it is not the one that was kept last")


def _named(number: int) -> str:
    return f"seal {number}" if number else "none"
