"""Remembers which JobSet controls a Job: whose a Pod of a JobSet is, its Job says.

A Job that was deleted is remembered for a while: its Pods go after it.
"""

from collections import OrderedDict

GONE_MAX = 10_000
"""So many Jobs that went last are remembered."""


class JobOwners:
    """UID of a Job -> UID of the JobSet that controls it. Safe to call from many threads."""

    def __init__(self) -> None:
        self._there: dict[str, str] = {}
        self._gone: OrderedDict[str, str] = OrderedDict()

    def note(self, job: str, jobset: str) -> None:
        """Take note of a Job."""
        self._there[job] = jobset

    def drop(self, job: str) -> None:
        """Take note that a Job is gone."""
        jobset = self._there.pop(job, "")
        if jobset:
            self._gone[job] = jobset
            while len(self._gone) > GONE_MAX:
                self._gone.popitem(last=False)

    def jobset_of(self, job: str) -> str:
        """Return the JobSet that controls a Job; empty if that is not known."""
        return self._there.get(job) or self._gone.get(job, "")
