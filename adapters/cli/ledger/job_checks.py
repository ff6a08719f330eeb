"""Checks of `jobledger doctor` for jobs that are held or slowed."""

from collections.abc import Iterator
from datetime import timedelta

from jobledger.adapters.cli.holdings import all_held
from jobledger.adapters.cli.ledger.doctor_world import Patient
from jobledger.adapters.postgres.checks.busy import busy_jobs
from jobledger.core.forensics.findings import Check, Finding, warning

NEAR = 0.95
"""A slowed job has about half its budget in an hour: what comes back of it."""


def held_jobs(found: Patient) -> Iterator[Finding]:
    """Yield jobs that are held because the ledger is older than the cluster."""
    assert found.opened is not None
    for held in all_held(found.opened):
        row = held.row
        name = f"{row.kind} {row.namespace}/{row.name} of cluster {row.cluster}"
        what = f"{name} is held since {held.holding.at:%Y-%m-%d %H:%M:%S}Z: {held.signs}"
        yield warning("held-jobs", what, held.remedy)


def slowed_jobs(found: Patient) -> Iterator[Finding]:
    """Yield jobs that have used up their budget of events, or are about to."""
    assert found.opened is not None
    budget = found.settings.job_events_per_hour
    least = max(1, int(budget / 2 * NEAR))
    for job in busy_jobs(found.opened.engine, timedelta(hours=1), least):
        what = (
            f"{job.kind} {job.namespace}/{job.name} has had {job.events} events within an hour, of "
            f"{budget // 2} at once and {budget // 2} more: it is slowed, or about to be"
        )
        remedy = (
            f"see what repeats: jobledger history {job.namespace}/{job.name}; then mend that, or "
            "raise JOBLEDGER_JOB_EVENTS_PER_HOUR"
        )
        yield warning("slowed-jobs", what, remedy)


CHECKS: tuple[Check[Patient], ...] = (
    Check(
        name="held-jobs",
        asks="Is no job held because the ledger is older than the cluster?",
        run=held_jobs,
    ),
    Check(
        name="slowed-jobs",
        asks="Has every job events left in its budget of the hour?",
        run=slowed_jobs,
    ),
)
