"""Decides of a Pod that is seen whether it is looked at now, before it or its log goes.

A Pod whose container failed may be gone a second later: the container is started again in place,
and the Job deletes the Pod once it has failed too often. So a Pod is looked at when its failure is
seen, and when it is being deleted. Bounded: a container that fails again and again is looked at
after its first, second, fourth, eighth … failure, and so many times in all of an attempt.

Source: Kubernetes, core/v1 PodStatus; batch/v1, the Job controller deletes active Pods at an end.
"""

from collections.abc import Collection
from dataclasses import dataclass

from jobledger.core.jobs.evidence.pods import container_statuses
from jobledger.core.values.documents import Json, Manifest, child, number, text

POD = "pod"
"""Beginning of the occasion of what is captured of one Pod."""

LOOKS_MAX = 6
"""So many times Pods of one attempt are looked at one by one."""

UID_CHARACTERS = 8
"""So much of a Pod's UID names it among those of an attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTrouble:
    """Why a Pod may have to be looked at."""

    uid: str
    failures: int
    """How often containers of it have failed so far; a Pod that failed as a whole counts."""
    is_going: bool
    """Whether it is being deleted."""

    def occasion(self, attempt: int, captured: Collection[str], *, well_too: bool) -> str:
        """Return the occasion of a look at it; empty: it is not looked at now.

        Args:
            attempt: the number of the attempt whose Pod it is.
            captured: the occasions of earlier looks at the job.
            well_too: whether it is looked at though none of its containers has failed.
        """
        begins = f"{POD}/{attempt}/"
        known = [one for one in captured if one.startswith(begins)]
        failed = f"{begins}{self.uid[:UID_CHARACTERS]}/{self.failures.bit_length()}"
        going = f"{begins}{self.uid[:UID_CHARACTERS]}/deleted"
        if len(known) >= LOOKS_MAX or going in known:
            return ""
        if self.failures:
            return failed if failed not in known else ""
        return going if self.is_going and well_too else ""


def trouble_of(pod: Manifest) -> PodTrouble | None:
    """Return why a Pod may have to be looked at; None: it goes its way."""
    phase = text(pod, "status", "phase")
    is_going = text(pod, "metadata", "deletionTimestamp") != ""
    if phase == "Succeeded":
        return None
    failures = sum(_failures(one) for one in container_statuses(child(pod, "status")))
    if phase == "Failed" and not failures:
        failures = 1  # as a whole, as where its node took it away
    if not failures and not is_going:
        return None
    return PodTrouble(uid=text(pod, "metadata", "uid"), failures=failures, is_going=is_going)


def _failures(status: Json) -> int:
    """Return how often a container has failed; one that waits is not counted as started again."""
    restarts = number(status, "restartCount") or 0
    if number(status, "state", "terminated", "exitCode"):
        return restarts + 1
    if not number(status, "lastState", "terminated", "exitCode"):
        return 0
    return restarts + (1 if child(status, "state", "waiting") else 0)


def attempt_of(occasion: str) -> int:
    """Return the attempt of whose Pod an occasion is; 0: it is another occasion."""
    begins, _, rest = occasion.partition("/")
    number_told, _, _ = rest.partition("/")
    return int(number_told) if begins == POD and number_told.isdigit() else 0
