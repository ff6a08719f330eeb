"""What a Job holds whose attempt is paused: nothing, as its Pods are gone while it is suspended."""

import pytest
from msgspec.structs import asdict, replace

from jobledger.core.batchjob.observations import BatchJobSeen
from jobledger.core.catalogue import read_event
from jobledger.core.forensics.attempts import cluster_hours
from jobledger.core.forensics.attempts import facts as story_facts
from jobledger.core.projections.reporting.held import RUNNING, Span
from jobledger.core.values.documents import Json
from tests.rules.projections.test_reports import rows
from tests.support.batch_lives import recorded_job
from tests.support.batchjobs import Step, after, complete_end, job, manifest, running

POD: Json = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}
DOCUMENT: Json = {"spec": {"template": {"spec": POD}}}
PAUSED = (
    *running(),
    manifest(100, generation=2, suspend=True),
    job(100, suspend=True),
)
RESUMED = (
    *PAUSED,
    manifest(5_000, generation=3),
    job(5_000, active=1, ready=1),
    job(5_100, end=complete_end(5_100), succeeded=1),
)
TWICE = (
    *RESUMED[:-1],
    manifest(5_050, generation=4, suspend=True),
    manifest(9_000, generation=5),
    job(9_050, end=complete_end(9_050), succeeded=1),
)


@pytest.mark.parametrize(
    ("story", "waited", "ran"), [(PAUSED, 10, 90), (RESUMED, 10, 190), (TWICE, 10, 190)]
)
def test_a_job_holds_nothing_while_it_is_suspended(
    story: tuple[Step, ...], waited: float, ran: float
) -> None:
    records = recorded_job(
        replace(one, document=DOCUMENT) if isinstance(one, BatchJobSeen) else one for one in story
    )
    (attempt,) = (asdict(one) for one in rows(records).facts["report_attempt"])
    assert attempt["cluster_seconds"] == waited + ran
    (cpu,) = map(asdict, attempt["resources"])
    held = [cpu[f"{stage}_seconds"] for stage in ("waiting", RUNNING, "idle")]
    assert held == [2 * waited, 2 * ran, 0]
    told = story_facts(map(read_event, records)).attempts
    assert cluster_hours(told) * 3600 == pytest.approx(waited + ran)


def test_a_piece_of_time_without_a_pause_is_whole() -> None:
    span = Span(after(0), after(10), None, after(100))
    assert list(span.parts(after(0), after(50))) == [(after(0), after(50))]
