"""How replicas divide the shards: a rule that each replica applies by itself.

Everybody reads the same list and comes to the same quotas, so nobody has to lead. A replica takes
free shards up to its quota and gives up what it holds beyond it. Quotas add up to all shards, and
follow what is held: where the shares are even already nothing moves, and whoever joins or leaves
moves no more than its own share.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from jobledger.core.ports.replicas import Replica
from jobledger.core.values.ids import SHARDS


def quotas(members: Sequence[Replica], patience: timedelta) -> Mapping[str, int]:
    """Return how many shards each member is to hold, by owner.

    `patience` is how long somebody may fail to hear the API server while others do. If the shards
    cannot be split evenly, those who hold most get one more.
    """
    fit = [member for member in members if _is_fit(member, members, patience)]
    share, rest = divmod(SHARDS, len(fit)) if fit else (0, 0)
    ranked = sorted(fit, key=lambda member: (-member.shards, member.owner))
    found = dict.fromkeys((member.owner for member in members), 0)
    for place, member in enumerate(ranked):
        found[member.owner] = share + (place < rest)
    return found


def surplus(held: Collection[int], quota: int, leaving: Collection[int] = ()) -> frozenset[int]:
    """Return the shards to give up: those that are leaving already first, else the highest."""
    by_rank = sorted(held, key=lambda shard: (shard not in leaving, -shard))
    return frozenset(by_rank[: max(len(held) - quota, 0)])


def is_cut_off(member: Replica, members: Sequence[Replica], patience: timedelta) -> bool:
    """Return whether others have heard the API server for longer than `patience` and it has not.

    Only what others heard meanwhile counts: while nobody hears it, nobody could do better; and when
    it is back, everybody has as long to notice.
    """
    last = member.heard_at or member.since
    return any(
        other.heard_at is not None
        and other.well_since is not None
        and other.heard_at - max(last, other.well_since) > patience
        for other in members
    )


def _is_fit(member: Replica, members: Sequence[Replica], patience: timedelta) -> bool:
    if is_cut_off(member, members, patience):
        return False
    if member.heard_at is not None or member.shards:
        return True
    # It is still starting. If others work it waits, so that no job is without anybody meanwhile.
    return not any(
        (other.heard_at is not None or other.shards or _is_older(other, member))
        and not is_cut_off(other, members, patience)
        for other in members
        if other is not member
    )


def _is_older(one: Replica, other: Replica) -> bool:
    return (one.since, one.owner) < (other.since, other.owner)
