"""When the program of an attempt was first seen at work, as reports have it."""

from msgspec.structs import asdict

from jobledger.core.trainjob.observations import SeenTrainStatus
from tests.rules.projections.test_reports import RETRIED, facts, picked, rows, train_records
from tests.rules.projections.test_reports_of_found_jobs import condition
from tests.rules.rayjob.test_recording import WHY
from tests.support import trainjobs as train
from tests.support.rayjob_builders import after, poll
from tests.support.rayjob_stories import running

AT_WORK = train.counts(active=1)


def trained(*steps: train.Step) -> list[object]:
    return [
        asdict(one)["first_step_at"] for one in rows(train_records(steps)).facts["report_attempt"]
    ]


def test_a_rayjob_steps_when_ray_says_that_its_job_runs() -> None:
    assert picked(facts(running(), "attempt"), "first_step_at") == [(None,)]
    story = (*running(), poll("PENDING", 50), poll("RUNNING", 60), poll("RUNNING", 90, message="x"))
    assert picked(facts(story, "attempt"), "first_step_at") == [(after(60),)]


def test_each_attempt_has_a_first_step_of_its_own() -> None:
    assert picked(facts(RETRIED, "attempt"), "number", "first_step_at") == [
        (1, None),
        (2, after(120)),
    ]


def test_a_trainjob_steps_with_the_first_report_of_its_code() -> None:
    assert trained(*train.running()) == [None]
    assert trained(
        *train.running(), train.progress(at=70), train.progress(at=130, percentage=50)
    ) == [train.after(70)]


def test_a_report_after_the_end_is_no_first_step() -> None:
    assert trained(*train.completed(), train.progress(at=900)) == [None]


def test_of_a_job_that_was_found_at_work_nobody_saw_the_first_step() -> None:
    seen = SeenTrainStatus(conditions=(condition("Created", 1),), jobs=(AT_WORK,))
    found = (train.manifest(300, recorded=WHY, status=seen), train.jobset(301, AT_WORK))
    assert trained(*found, train.progress(at=400)) == [None]
