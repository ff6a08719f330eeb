"""Reads required values from a foreign document. The caller words the error."""

from uuid import UUID

from jobledger.core.forensics.foreign import NotOneOfOurs
from jobledger.core.values.documents import Manifest, number, text
from jobledger.core.values.instants import Instant, parse_rfc3339

COUNTED_MAX = 2**63 - 1
"""No ledger counts further: its numbers are those of a database."""


def whole(told: Manifest, name: str) -> int:
    """Return a whole number; raise `NotOneOfOurs` if a ledger has none like that of that name."""
    found = number(told, name)
    if found is None or abs(found) > COUNTED_MAX:
        raise NotOneOfOurs(f"{name} is no whole number of a ledger")
    return found


def instant(told: Manifest, name: str) -> Instant:
    """Return an instant; raise `NotOneOfOurs` if there is none of that name."""
    found = parse_rfc3339(text(told, name))
    if found is None:
        raise NotOneOfOurs(f"{name} is no instant")
    return found


def uuid(told: Manifest, name: str) -> UUID:
    """Return a UUID; raise `NotOneOfOurs` if there is none of that name."""
    try:
        return UUID(text(told, name))
    except ValueError as error:
        raise NotOneOfOurs(f"{name} is no UUID") from error


def digest_of(told: Manifest, name: str) -> bytes:
    """Return a digest; raise `NotOneOfOurs` if there is none of that name."""
    try:
        return bytes.fromhex(text(told, name))
    except ValueError as error:
        raise NotOneOfOurs(f"{name} is no digest") from error
