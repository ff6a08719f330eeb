"""The polls of one controller, for tests that ask heads step by step."""

from jobledger.adapters.kinds.rayjob.following import RayJobFollower
from jobledger.adapters.kinds.rayjob.heads.polls import Polls
from jobledger.adapters.service.assembly import Parts


def polls_of(parts: Parts) -> Polls:
    """Return what polls the heads of RayJobs."""
    follower = parts.handover.followers["RayJob"]
    assert isinstance(follower, RayJobFollower)
    return follower.polls
