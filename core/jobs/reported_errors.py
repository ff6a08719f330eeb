"""Reports each kind of error once per job, and limits how many kinds are reported."""

import re

TROUBLES_TOLD_MAX = 10
"""How many kinds of trouble are told of one thing that goes on failing; others may choose texts."""

_CHANGING = re.compile(r"0x[0-9a-fA-F]+|\b(?=\w*\d)[0-9a-fA-F]{4,}(?:-[0-9a-fA-F]+)*\b|\d{4,}")
"""Long numbers, addresses in memory, ids: what differs from one time to the next.

An HTTP status is none of them.
"""


def is_new_trouble(trouble: str, told: str, count: int) -> bool:
    """Return whether a trouble is to be told, where `told` was the last of `count`.

    Texts that differ only in long numbers and in ids are of one kind.
    """
    if count >= TROUBLES_TOLD_MAX:
        return False
    return count == 0 or _CHANGING.sub("#", trouble) != _CHANGING.sub("#", told)
