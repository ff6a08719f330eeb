"""Looks at the Pod of the head, as `tests.support.rayjob_builders` has those at the rest."""

from jobledger.core.rayjob.observations.observations import HeadPodGone, HeadPodSeen
from tests.support.rayjob_builders import UNNAMED, after, cluster_of, named


def head_pod(
    at: float = 12,
    *,
    attempt: int = 1,
    uid: str = "head-1",
    cluster: str = "",
    cluster_uid: str = "",
    deleting: bool = False,
    finished: str = "",
    message: str = "",
) -> HeadPodSeen:
    """Return a look at the Pod of the head; a submitter beside it ended 2 s before it was seen."""
    return named(
        HeadPodSeen(
            id=UNNAMED,
            at=after(at),
            cluster=cluster or cluster_of(attempt),
            cluster_uid=cluster_uid or f"cluster-{attempt}",
            name="head",
            uid=uid,
            deleting=deleting,
            finished=finished,
            finished_at=after(at - 2) if finished else None,
            message=message,
        )
    )


def head_pod_gone(at: float = 40, *, uid: str = "head-1") -> HeadPodGone:
    """Return that the Pod of the head is gone."""
    return named(HeadPodGone(id=UNNAMED, at=after(at), name="head", uid=uid))
