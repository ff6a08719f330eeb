"""The rule by which several ledgers agree, each by itself, which one controls a cluster's jobs.

Each run of the service keeps a claim in the cluster: to which ledger it writes, and whose jobs it
controls. It acts only if it had written that it claims, and saw no rival that claims or acts
afterwards; so of two that begin at once never both do. Who acts goes on, who comes later waits.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from jobledger.core.kinds import KINDS
from jobledger.core.values.counted import counted


class Standing(Enum):
    """What a run says of itself."""

    CLAIMING = "Claiming"
    """It is about to act, if nobody else is."""
    ACTING = "Acting"
    WAITING = "Waiting"
    """It does nothing, because another ledger controls these jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one run of the service says of itself."""

    name: str
    """Of the object that holds it; no two runs have the same."""
    owner: str
    """`<replica>/<run>`."""
    since: str
    """When the run began, in UTC and of fixed width, so that texts compare as instants."""
    standing: Standing
    database: str
    """Which database it writes to; a copy or a promoted replica is another."""
    origin: str = ""
    """The first link of its log; empty while that is empty. Copies of one ledger share it."""
    position: int = 0
    """How long its log is."""
    namespaces: tuple[str, ...] = ()
    """Whose jobs it controls; none: all."""
    kinds: tuple[str, ...] = ()
    named_in: tuple[str, ...] | None = None
    """Namespaces whose jobs it controls if they name this controller in spec.managedBy.

    Empty: all; None: no others than `namespaces`.
    """


def overlap(one: Claim, other: Claim) -> bool:
    """Return whether two runs would control some of the same jobs.

    A job that names this controller is controlled by either in every namespace where it looks, if
    it is of a kind that can.
    """
    kinds = {*one.kinds} & {*other.kinds}
    if kinds and _meet(one.namespaces, other.namespaces):
        return True
    can_be_named = any(one in KINDS and KINDS[one].controller.named for one in kinds)
    return can_be_named and _meet(_reach(one), _reach(other))


def _reach(claim: Claim) -> tuple[str, ...]:
    return claim.namespaces if claim.named_in is None else claim.named_in


def _meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return not one or not other or bool({*one} & {*other})


def is_replica(mine: Claim, other: Claim, replicas: Collection[str]) -> bool:
    """Return whether `other` is a replica of the ledger of `mine`, for which nobody waits.

    `replicas` are the owners on the list of that ledger. A promoted or restored copy of a ledger
    has the list of the original too, so a claim has to name this database as well.
    """
    return other.owner in replicas and other.database == mine.database


def stand(mine: Claim, rivals: Collection[Claim]) -> Standing:
    """Return what a run is to say next, by the rivals it saw after it had written `mine`.

    A rival is a run on another ledger that is alive and overlaps.
    """
    by_standing = {
        standing: [rival for rival in rivals if rival.standing is standing] for standing in Standing
    }
    if mine.standing is Standing.ACTING:  # two may act after one was cut off: the older goes on
        is_first = all(_rank(mine) < _rank(one) for one in by_standing[Standing.ACTING])
        return Standing.ACTING if is_first else Standing.WAITING
    if by_standing[Standing.ACTING]:
        return Standing.WAITING
    others = by_standing[Standing.CLAIMING]
    if mine.standing is Standing.CLAIMING:
        if not others:
            return Standing.ACTING
        is_first = all(_rank(mine) < _rank(one) for one in others)
        return Standing.CLAIMING if is_first else Standing.WAITING
    is_first = all(_rank(mine) < _rank(one) for one in by_standing[Standing.WAITING])
    return Standing.CLAIMING if is_first and not others else Standing.WAITING


THIS_LEDGER = "this ledger"


def kinship(mine: Claim, rival: Claim, called: str = THIS_LEDGER) -> str:
    """Return what the other ledger is to this one, in words; `called` names this one."""
    if mine.database == rival.database:
        return "the same database under another name of the cluster, or a copy of its files"
    if not mine.origin or mine.origin != rival.origin:
        return "a ledger of its own"
    ahead = rival.position - mine.position
    if ahead == 0:
        which = "this one" if called == THIS_LEDGER else "that one"
        return f"a copy of {called}, as long as {which}"
    how = "longer" if ahead > 0 else "shorter"
    return f"a copy of {called}, {counted(abs(ahead), 'event')} {how}"


def _rank(claim: Claim) -> tuple[str, str]:
    return claim.since, claim.name
