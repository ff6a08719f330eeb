"""The polls of one controller, for tests that ask heads step by step."""

from jobledger.adapters.kinds.rayjob.following import RayJobFollower
from jobledger.adapters.kinds.rayjob.heads.polls import Polls
from jobledger.adapters.service.assembly import Parts
from jobledger.adapters.service.followers import FollowerParts


def polls_of(parts: Parts) -> Polls:
    """Return what polls the heads of RayJobs; idle ones where no RayJob is controlled."""
    follower = parts.handover.followers.get("RayJob")
    if follower is None:
        idle = FollowerParts(
            context=parts.handover.context,
            confirmations=parts.stores.confirmations,
            interval_seconds=3.0,
            threads=1,
        )
        return RayJobFollower(idle).polls
    assert isinstance(follower, RayJobFollower)
    return follower.polls
