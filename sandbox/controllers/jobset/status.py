"""The status of a JobSet while one reconcile writes it."""

from collections.abc import Mapping

from jobledger.core.values.documents import Json, Manifest, child, number
from jobledger.core.values.instants import Instant
from jobledger.sandbox.controllers.jobset.conditions import (
    COMPLETED,
    RESUMED,
    STARTED,
    STARTING,
    SUSPENDED,
    Condition,
    conditions_of,
    failed,
    no_longer_restarting,
    restarting,
    with_condition,
)
from jobledger.sandbox.controllers.jobset.policies import Failed, Restarted


class StatusDraft:
    """What the status is to be; compare `fields` with what is there before it is written."""

    def __init__(self, jobset: Manifest, now: Instant) -> None:
        self.fields: dict[str, Json] = dict(child(jobset, "status"))
        self._now = now

    @property
    def restarts(self) -> int:
        """How often all Jobs have begun anew."""
        return number(self.fields, "restarts") or 0

    def count(self, counters: list[Json]) -> None:
        """Take the counters of the replicated jobs."""
        self.fields["replicatedJobsStatus"] = counters

    def suspended(self) -> None:
        """The JobSet is suspended."""
        self._set(SUSPENDED)
        self._set(no_longer_restarting("JobSetSuspended", SUSPENDED.message))

    def resumed(self) -> None:
        """Nothing is suspended (any more)."""
        self._set(RESUMED)

    def starting(self) -> None:
        """One replicated job waits for another to start."""
        self._set(STARTING)

    def started(self) -> None:
        """All have started in their order."""
        self._set(STARTED)

    def jobs_ready(self) -> None:
        """All Jobs of this attempt are ready."""
        self._set(no_longer_restarting("JobsReady", "all jobs are ready"))

    def completed(self) -> None:
        """The success policy is met."""
        self._set(COMPLETED)
        self._set(no_longer_restarting("JobSetCompleted", COMPLETED.message))
        self.fields["terminalState"] = "Completed"

    def failed(self, outcome: Failed) -> None:
        """The JobSet has failed for good."""
        self._set(failed(outcome.reason, outcome.message))
        self._set(no_longer_restarting("JobSetFailed", "jobset failed"))
        self.fields["terminalState"] = "Failed"

    def restarted(self, outcome: Restarted) -> None:
        """All Jobs begin anew."""
        self.fields["restarts"] = self.restarts + 1
        if outcome.is_counted:
            counted = number(self.fields, "restartsCountTowardsMax") or 0
            self.fields["restartsCountTowardsMax"] = counted + 1
        self._set(restarting(outcome.reason, outcome.message))

    def differs_from(self, known: Mapping[str, Json]) -> bool:
        """Tell whether there is something to write."""
        return self.fields != dict(known)

    def _set(self, condition: Condition) -> None:
        before = conditions_of(self.fields)
        after = with_condition(before, condition, self._now)
        if after:
            self.fields["conditions"] = after
