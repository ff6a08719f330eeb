"""The children of a job that are known to be gone: late news of them is no news."""

REMEMBERED_MAX = 8
"""How many UIDs are remembered; late news comes within moments."""


def with_gone(gone: tuple[str, ...], uid: str) -> tuple[str, ...]:
    """Return the UIDs that are known to be gone, with one more."""
    return gone if not uid or uid in gone else (*gone, uid)[-REMEMBERED_MAX:]


def without_gone(gone: tuple[str, ...], uid: str) -> tuple[str, ...]:
    """Return them without one that is there, as after a restore of etcd."""
    return tuple(one for one in gone if one != uid) if uid in gone else gone
