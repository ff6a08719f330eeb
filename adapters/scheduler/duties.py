"""Periodic duties of the service in APScheduler: their intervals and threads.

Duties are planned by the machine's clock, which may be set, and may take longer than a stop of the
process can wait.
"""

import contextlib
import threading
from datetime import datetime

from apscheduler.events import JobExecutionEvent
from apscheduler.executors.base import BaseExecutor, MaxInstancesReachedError, run_job
from apscheduler.job import Job
from apscheduler.jobstores.memory import MemoryJobStore


class DutyStore(MemoryJobStore):  # type: ignore[misc]  # apscheduler has no types
    """The duties in memory. All have an `IntervalTrigger`."""

    def get_due_jobs(self, now: datetime) -> list[Job]:
        """Return duties that are due; each is planned for within one interval from now.

        It is for later if the clock was set back since, and for long ago if it was set forward:
        then the engine would count each time that was missed.
        """
        for duty in self.get_all_jobs():
            every, planned = duty.trigger.interval, duty.next_run_time
            if abs(planned - now) > every:
                nearest = now + every if planned > now else now
                duty._modify(next_run_time=nearest)  # noqa: SLF001 as the engine does
                self.update_job(duty)
        due: list[Job] = super().get_due_jobs(now)
        return due


class DutyThreads(BaseExecutor):  # type: ignore[misc]  # apscheduler has no types
    """Carries each duty out in a thread of its own, for which the process does not wait at its end.

    Threads of a pool of `concurrent.futures` are joined when the interpreter ends, however long
    what they do takes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()
        self._under_way: set[threading.Thread] = set()

    def wait(self, seconds: float) -> list[str]:
        """Wait until no duty is under way, at most so long; return the names of those that are."""
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way, seconds)
            return sorted(thread.name for thread in self._under_way)

    def submit_job(self, job: Job, run_times: list[datetime]) -> None:
        """Begin a duty; pass over one that is still under way, which is no news to anybody."""
        with contextlib.suppress(MaxInstancesReachedError):
            super().submit_job(job, run_times)

    def _do_submit_job(self, job: Job, run_times: list[datetime]) -> None:
        thread = threading.Thread(
            target=self._carry_out, args=(job, run_times), name=job.id, daemon=True
        )
        with self._changed:
            thread.start()
            self._under_way.add(thread)

    def _carry_out(self, job: Job, run_times: list[datetime]) -> None:
        events: list[JobExecutionEvent] = []
        try:
            events = run_job(job, job._jobstore_alias, run_times, self._logger.name)  # noqa: SLF001 as every executor does
        finally:  # what a duty raises is among the events
            with self._changed:
                self._under_way.discard(threading.current_thread())
                self._changed.notify_all()
            self._run_job_success(job.id, events)
