"""Finds misspelt annotations under our prefix, of any kind of job, and which may limit retries."""

import difflib
from collections.abc import Collection, Iterable

from jobledger.core.values.our_prefix import OUR_PREFIX

JOB_DEADLINE = "job-deadline-seconds"
"""Name, behind the prefix, of the annotation that asks for a deadline over all attempts."""

POLICY = "retry-policy"
"""Name of the one about classes of failures, which RayJobs alone take."""

LIMITS = frozenset({POLICY, JOB_DEADLINE})
"""Annotations that limit what is retried: with a slip in one of them nothing is."""

UNKNOWN_MAX = 8
"""So many annotations that are not known are named one by one."""

SHOWN_MAX = 80
"""So much of an annotation is repeated when it is named."""

_DEADLINE = "deadline"
_ALIKE = 0.75
"""So much alike are names of which one is a slip of the pen; 1 is the same."""


def slips(keys: Iterable[str], known: Collection[str]) -> list[str]:
    """Return the annotations that look as if meant for one of these; sorted.

    Args:
        keys: Whole names of annotations.
        known: Names of those that are read, without the prefix.
    """
    return [
        key
        for key in sorted(keys)
        if key.startswith(OUR_PREFIX)
        and (name := key.removeprefix(OUR_PREFIX)) not in known
        and (name.startswith("retry") or is_slip_of(name, known))
    ]


def is_slip_of(name: str, known: Collection[str]) -> bool:
    """Return whether a name is so much like one of these that it was meant."""
    if _DEADLINE in name.lower() and any(_DEADLINE in one for one in known):
        return True
    return bool(difflib.get_close_matches(name.lower(), known, n=1, cutoff=_ALIKE))


def limit_meant(key: str, written: str) -> str:
    """Return which of the limits an annotation that is not known was meant to be; empty: none.

    It is a policy where it has the form of one, or the deadline by a name that is much alike.
    """
    if "=" in written:
        return POLICY
    return JOB_DEADLINE if is_slip_of(key.removeprefix(OUR_PREFIX), (JOB_DEADLINE,)) else ""


def at_most_named(problems: list[str]) -> list[str]:
    """Return the complaints about slips, the first by one and the others counted."""
    named, more = problems[:UNKNOWN_MAX], len(problems) - UNKNOWN_MAX
    if more > 0:
        named.append(f"{more} more annotations under {OUR_PREFIX} are not known")
    return named


def complaint(key: str, written: str, why: str, *, forbids_retries: bool = False) -> str:
    """Return what is told of an annotation that cannot be understood."""
    done = "is left out" if not forbids_retries else "cannot be understood, so nothing is retried"
    return f"annotation {key} {done}: {written[:SHOWN_MAX]!a}: {why}"
