"""Failures of Jobs that are retried on new Jobs."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from tests.support.batch_lives import BATCH_LIVES, recorded_job
from tests.support.batchjobs import Step
from tests.support.recorded import stored


@dataclass(frozen=True, kw_only=True)
class BatchCase:
    """A life that ended in failure, and its class."""

    name: str
    expected: str
    story: Sequence[Step]

    def dossier(self) -> Dossier:
        """Return the dossier of the job."""
        records = stored(recorded_job(self.story))
        return Dossier(events=records, evidence=reader_of({}), origin="a test")


BATCHJOBS = (
    BatchCase(
        name="an attempt's Job that somebody deleted",
        expected="job-deleted",
        story=BATCH_LIVES["lost"],
    ),
    BatchCase(
        name="a Job whose Pods fail too often",
        expected="application",
        story=BATCH_LIVES["out-of-retries"],
    ),
    BatchCase(
        name="a Job past the deadline over all attempts",
        expected="deadline",
        story=BATCH_LIVES["past-its-deadline"],
    ),
)
