"""Events: facts about a RayJob's Pods and failures.

The other events, and what holds for all: `core.rayjob.events.lifecycle`.
"""

from msgspec import Struct

from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.rayjob.observations.pods import PodFact, PodLook
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.values.instants import Instant


class PodsObserved(Struct, frozen=True, kw_only=True):
    """The attempt's Pods were looked at; or could not be, and `trouble` says why."""

    at: Instant
    attempt: int
    purpose: PodLook
    """What it was looked for."""
    total: int
    """How many there are."""
    pods: tuple[PodFact, ...] = ()
    """The most telling of them."""
    trouble: str = ""
    """Why they could not be looked at; empty if they were."""


class FailureNoticed(Struct, frozen=True, kw_only=True):
    """The attempt has failed.

    Its Pods are looked at before the retry rule judges, because the job's retry policy speaks of
    classes.
    """

    at: Instant
    attempt: int
    reason: str
    message: str
    job_status: JobStatus
    failure: FailureClass = FailureClass.OTHER
    """Class of the failure, as far as it is known without the Pods."""
