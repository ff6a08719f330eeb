"""Lines for whoever follows the service: by the job's name, when something begins or ends."""

from collections.abc import MutableMapping
from typing import Any

from jobledger.adapters.service.loop.milestones import log_milestones
from jobledger.core.rayjob.decide.decide import RAYJOB
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP, is_over
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import manifest, manifest_gone
from tests.support.rows import Step, play
from tests.support.service_world import ServiceWorld

JOB = "RayJob ml/train"
Lines = list[MutableMapping[str, Any]]


def told(log_lines: Lines, *story: Step) -> list[tuple[str, object]]:
    log_milestones(JOB, play(RAYJOB, story).history)
    assert all(line["job"] == JOB for line in log_lines)
    return [(line["event"], line.get("reason", line.get("attempt"))) for line in log_lines]


def test_a_retry_and_the_end_are_told(log_lines: Lines) -> None:
    story = (
        *stories.failed_attempts(1, backoff_limit=1),
        *stories.built(2),
        *stories.readied(2),
        *stories.failing(2),
    )
    assert told(log_lines, *story) == [
        ("attempt_started", 1),
        ("attempt_failed", "AppFailed"),
        ("attempt_started", 2),
        ("attempt_failed", "AppFailed"),
        ("job_failed", "AppFailed"),
    ]


def test_success_and_deletion_are_told(log_lines: Lines) -> None:
    ends = told(log_lines, *stories.succeeded(), manifest_gone())[1:]
    assert ends == [("job_complete", None), ("job_deleted", None)]


def test_why_a_job_is_not_valid_is_told(log_lines: Lines) -> None:
    assert told(log_lines, manifest(problem="no such mode")) == [("job_not_valid", None)]
    assert "no such mode" in log_lines[0]["because"]


def test_the_service_names_the_job(log_lines: Lines) -> None:
    world = ServiceWorld()
    stream = world.create(a_rayjob(submissionMode=HTTP, shutdownAfterJobFinishes=True))
    world.run(lambda: is_over(world, stream), "the job to be over")
    named = [line["event"] for line in log_lines if line.get("job", "").startswith("RayJob ")]
    assert named[0] == "attempt_started"
    assert named[-1] == "job_complete"
